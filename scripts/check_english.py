#!/usr/bin/env python3
"""Words and openings that a reader must read twice, in comments, messages, help texts and documents.

    check_english.py [FILE...]      default: all files of the repository

A comment begins with its subject or a verb, not with What, Of, Whether or the like; CONTRIBUTING.md ("Style") has the rules.
Part of check_style.sh."""
import os, re, sys

FOLDERS = 'bench cmake docs include packaging python samples scripts src tests tools .'.split()
SKIPPED = re.compile(r'node_modules|__pycache__|tests/golden|tests/fuzz/regression|bench/results')
WORDS = {'told': 'reported, or a noun', 'anew': 'again', 'amid': 'during, or inside', 'whoever': 'a noun',
         'alike': 'the same, or similar', 'likewise': 'also, or the same', 'beside': 'next to, or in addition to'}
WORD = re.compile(r'\b(' + '|'.join(WORDS) + r')\b', re.I)
OPENING = re.compile(r'(What|Of|Where|That|[Ww]hether|[Ss]o that|[Ww]ho)\b')
C_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*', re.S)
PY_TOKEN = re.compile(r'("""|\'\'\').*?\1|(?<!\S)#[^\n]*', re.S)


def pieces_of(name, text):
    """(offset, text, whether it is a comment) of everything in a file that people read."""
    ending = os.path.splitext(name)[1]
    if ending in ('.c', '.h', '.cu', '.cuh', '.def', '.inc', '.js', '.css'):
        for match in C_TOKEN.finditer(text):
            is_comment = match[0][0] == '/'
            if is_comment or (match[0][0] == '"' and ending not in ('.js', '.css')):
                yield match.start(), match[0], is_comment
    elif ending == '.py':
        for match in PY_TOKEN.finditer(text):
            yield match.start(), match[0], True
    elif ending in ('.sh', '.cmake', '.txt') or name.endswith('Makefile'):
        for match in re.finditer(r'(?m)^ *#.*', text):
            # a line that continues a comment does not open one
            before = text.rfind('\n', 0, max(match.start() - 1, 0)) + 1
            yield match.start(), match[0], not text[before:match.start()].lstrip().startswith('#')
    elif ending == '.html':
        for match in re.finditer(r'title="[^"]*"', text):
            yield match.start(), match[0], False
    elif ending == '.md':
        # code is not prose
        plain = re.sub(r'(?ms)^```.*?^```|`[^`\n]*`|^    .*?$', lambda m: re.sub(r'\S', ' ', m[0]), text)
        yield 0, plain, False


def complaints(name, text):
    """(number of the line, complaint) of a file."""
    for offset, piece, is_comment in pieces_of(name, text):
        line = text.count('\n', 0, offset) + 1
        piece = re.sub(r'`[^`\n]*`', lambda m: ' ' * len(m[0]), piece)  # names in the code
        for match in WORD.finditer(piece):
            yield line + piece.count('\n', 0, match.start()), f'"{match[0]}": say {WORDS[match[0].lower()]}'
        opening = OPENING.match(piece.lstrip('/*#"\' \n')) if is_comment else None
        if opening:
            yield line, f'a comment opens with "{opening[0]}": begin with its subject or a verb'


def all_files():
    for folder in FOLDERS:
        for at, folders, names in os.walk(folder):
            if folder == '.':
                folders.clear()
            folders[:] = sorted(f for f in folders if not f.startswith('.') and not SKIPPED.search(f'{at}/{f}'))
            for name in sorted(names):
                path = os.path.normpath(os.path.join(at, name))
                if path != 'scripts/check_english.py':
                    yield path


def main(names):
    failed = False
    for name in names or all_files():
        if not re.search(r'\.(c|h|cu|cuh|def|inc|js|css|py|sh|cmake|txt|html|md)$|Makefile$', name):
            continue
        with open(name, encoding='utf-8', errors='replace') as file:
            text = file.read()
        for line, complaint in complaints(name, text):
            print(f'{name}:{line}: {complaint}')
            failed = True
    return failed


os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
sys.exit(main(sys.argv[1:]))
