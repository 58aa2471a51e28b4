"""Builds the site, and looks at what came out: every link and picture of every page is there, nothing is fetched from
elsewhere, the search knows every page, and every function of the headers has its place.

    check_site.py PROGRAM SOURCE     # in a scratch folder; 77: there is no Sphinx"""
import json, os, re, subprocess, sys, urllib.parse

WORDS = {'docs/viewer': 'token', 'commands/train': 'densify_grad_threshold', 'api/viewer': 'splat_viewer_serve'}


def pages(folder):
    """{path: text} of the HTML."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            if name.endswith('.html'):
                path = os.path.join(at, name)
                with open(path, encoding='utf-8') as file:
                    found[os.path.relpath(path, folder)] = file.read()
    return found


def problems_of(folder, path, text, ids):
    for what, target in re.findall(r'\s(href|src)="([^"]*)"', text):
        if re.match(r'(data|mailto):', target):
            continue
        if re.match(r'[a-z]+:', target):
            if what == 'src' or not re.search(rf'<a[^>]*href="{re.escape(target)}"', text):
                yield f'{target} is fetched from elsewhere'
            continue
        file, _, anchor = urllib.parse.unquote(target).partition('#')
        file = file.partition('?')[0]
        whole = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
        if not os.path.exists(os.path.join(folder, whole)):
            yield f'{target}: there is no such file'
        elif anchor and whole in ids and anchor not in ids[whole]:
            yield f'{target}: there is no such place'


def style_problems(folder):
    """Style sheets take nothing from the root of a server or from elsewhere."""
    for at, _, names in os.walk(folder):
        for name in (n for n in names if n.endswith('.css')):
            with open(os.path.join(at, name), encoding='utf-8') as file:
                for target in re.findall(r'url\(["\']?([^"\')]+)', file.read()):
                    if re.match(r'/|[a-z]+:(?<!data:)', target) or \
                            not (target.startswith('data:') or os.path.exists(os.path.join(at, target))):
                        yield f'{name}: {target} is not part of the site'


def pages_of_entry(index, entry):
    """Pages that the search puts first for an entry of the index."""
    content = json.loads(index.removeprefix('Search.setIndex(').rstrip().removesuffix(')'))
    return {content['docnames'][page] for page, *_ in content['indexentries'].get(entry, [])}


def main(program, source):
    done = subprocess.run([os.path.join(source, 'scripts', 'site.sh'), os.path.abspath('site')],
                          env={**os.environ, 'BINARY': program}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    print(done.stdout, end='')
    if done.returncode:
        return done.returncode
    found = pages('site')
    ids = {path: set(re.findall(r'\sid="([^"]*)"', text)) for path, text in found.items()}
    failed = [f'{path}: {problem}' for path, text in found.items() for problem in problems_of('site', path, text, ids)]
    with open('site/searchindex.js', encoding='utf-8') as file:
        index = file.read()
    failed += [f'the search lacks {name}' for name in found if f'"{name[:-5]}"' not in index
               and name not in ('search.html', 'genindex.html')]
    for page, word in WORDS.items():
        if word not in found[page + '.html'] or not re.search(rf'\b{word}', index):
            failed.append(f'{page}: {word} is not found')
    failed += style_problems('site')
    if 'commands/train' not in pages_of_entry(index, '--densify_grad_threshold'):
        failed.append('a search for densify_grad_threshold does not begin with the page of train')
    headers = os.path.join(source, 'include', 'splatsmith')
    for name in (n for n in os.listdir(headers) if n.endswith('.h')):
        with open(os.path.join(headers, name), encoding='utf-8') as file:
            functions = re.findall(r'^(?!#| |typedef).*?\b(splat_\w+)\(', file.read(), re.M)
        failed += [f'{name}: {f} is not on its page' for f in functions if f not in ids[f'api/{name[:-2]}.html']]
    print('\n'.join(failed))
    print(f'{len(found)} pages, {len(failed)} problems')
    return 1 if failed or len(found) < 40 else 0


sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
