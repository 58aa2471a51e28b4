"""Every relative link of the documents leads to a file of the repository, and to a heading where it names one. Links to
elsewhere are not followed: their form is checked.

    check_links.py SOURCE"""
import os, re, sys, urllib.parse
from markdown import Document, documents

ABSOLUTE = re.compile(r'https?://([a-z0-9-]+\.)+[a-z]{2,}(:\d+)?(/[^\s<>"]*)?(#\S+)?$')


def read(path):
    with open(path, encoding='utf-8') as file:
        return Document(file.read())


def problem_of(root, document, target, cache):
    """The fault of a link, or None."""
    if target.startswith('['):
        return f'{target}'
    if re.match(r'[a-z]+:', target):
        return None if ABSOLUTE.match(target) else f'{target} is no address'
    path, _, anchor = target.partition('#')
    path = urllib.parse.unquote(path)
    whole = os.path.join(root, os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document)
    whole = os.path.normpath(whole)
    if path.startswith('/') or os.path.relpath(whole, root).startswith('..'):
        return f'{target} leads out of the repository'
    if not os.path.exists(whole):
        return f'{target}: there is no such file'
    if not anchor:
        return None
    if not whole.endswith('.md'):
        return f'{target}: only documents have anchors'
    if whole not in cache:
        cache[whole] = read(whole).anchors()
    return None if anchor in cache[whole] else f'{target}: there is no such heading'


def main(root):
    n, failed, cache = 0, 0, {}
    for document in documents(root):
        for number, target in read(os.path.join(root, document)).links():
            n += 1
            problem = problem_of(root, document, target, cache)
            if problem:
                failed += 1
                print(f'{document}:{number}: {problem}')
    print(f'{n} links in {len(documents(root))} documents, {failed} lead nowhere')
    if n < 100:
        print('so few links: they are not found any more')
    return 1 if failed or n < 100 else 0


sys.exit(main(os.path.abspath(sys.argv[1])))
