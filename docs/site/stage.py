"""Lays out what Sphinx makes the site of: the documents of the repository as they are, in their folders, with the files
that they link to, and the pages that are made of the headers and of the program's own help.

    stage.py SOURCE FOLDER PROGRAM"""
import os, re, shutil, sys
sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '..', '..', 'tests', 'docs')]
import api, commands
from markdown import Document, documents

# The order of the contents. Documents that are not here follow in the group MORE, those of docs/lab/ in the group LAB, so
# none is forgotten.
MORE, LAB = 'Use', 'Laboratory'
CONTENTS = [
    ('Begin', ['docs/install', 'docs/tutorial', 'docs/commands', 'Overview <README>', 'docs/gallery', 'docs/coming-from']),
    ('Use', ['docs/viewer', 'docs/observing', 'docs/files', 'docs/memory', 'docs/python', 'docs/packaging', 'docs/benchmark',
             'docs/distributed']),
    ('Reference', ['commands/index', 'docs/options', 'api/index']),
    ('Inside', ['docs/method', 'docs/architecture', 'docs/kernels', 'docs/decisions', 'docs/performance',
                'docs/comparison', 'docs/testing', 'docs/soak']),
    (LAB, ['docs/lab/README']),
    ('Project', ['CONTRIBUTING', 'RELEASING', 'SECURITY', 'CHANGELOG']),
]


def pages(root):
    """Documents that become pages: those of the root and of docs/, and those that they link to."""
    found = [d for d in documents(root) if os.path.dirname(d) in ('', 'docs')]
    for document in found:  # it grows
        found += [t for t in sorted(targets(root, document)) if t.endswith('.md') and t not in found]
    return found


def targets(root, document):
    """Files that a document links to, from the root."""
    with open(os.path.join(root, document), encoding='utf-8') as file:
        links = [target.partition('#')[0] for _, target in Document(file.read()).links()]
    paths = [os.path.normpath(os.path.join(os.path.dirname(document), t)) for t in links if t and '://' not in t]
    return {p for p in paths if os.path.isfile(os.path.join(root, p))}


def page_of(entry):
    """'README' of 'Overview <README>'"""
    return entry.rstrip('>').split('<')[-1]


def toctrees(names):
    listed = [page_of(name) for _, group in CONTENTS for name in group]
    rest = sorted(name for name in names if name not in listed)
    text = ''
    for title, group in CONTENTS:
        group = [n for n in group if page_of(n) in names or n.split('/')[0] in ('commands', 'api')]
        group += [n for n in rest if title == (LAB if n.startswith('docs/lab/') else MORE)]
        text += '\n```{toctree}\n:hidden:\n:caption: ' + title + '\n\n' + '\n'.join(group) + '\n```\n'
    return text


def copy(root, folder, path):
    to = os.path.join(folder, path)
    os.makedirs(os.path.dirname(to), exist_ok=True)
    shutil.copyfile(os.path.join(root, path), to)


def main(root, folder, program):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, '_static', 'scripts'))
    found = pages(root)
    for document in found:
        for path in {document, *targets(root, document)}:
            copy(root, folder, path)
    for name, to in (('conf.py', 'conf.py'), ('site.css', '_static/site.css'),
                     ('furo.js', '_static/scripts/furo.js')):
        shutil.copyfile(os.path.join(HERE, name), os.path.join(folder, to))
    api.write(os.path.join(root, 'include', 'splatsmith'), os.path.join(folder, 'api'))
    commands.write(program, os.path.join(folder, 'commands'))
    with open(os.path.join(HERE, 'home.md.in'), encoding='utf-8') as file:
        text = file.read()
    with open(os.path.join(folder, 'index.md'), 'w', encoding='utf-8') as out:
        out.write(text + toctrees([re.sub(r'\.md$', '', name) for name in found]))
    print(f'{len(found)} documents')


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*map(os.path.abspath, sys.argv[1:]))
