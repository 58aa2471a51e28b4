"""Pages of the library's headers: each declaration with the comment before it."""
import os, re

ORDER = ['core', 'scene', 'model', 'train', 'mesh', 'refine', 'texture', 'capture', 'viewer', 'distributed']


class Entry:
    """Declarations that stand together, and the comment before the first."""

    def __init__(self, comment):
        self.comment, self.code = comment, []

    def names(self):
        found = []
        for code in self.code:
            bare = re.sub(r'/\*.*?\*/', '', code, flags=re.S)
            name = re.match(r'#define\s+(\w+)', bare) or re.search(r'\}\s*(\w+)\s*;\s*$', bare) or \
                re.search(r'\(\s*\*\s*(\w+)\s*\)\s*\(', bare) or re.search(r'(\w+)\s*\(', bare) or \
                re.search(r'(\w+)\s*;\s*$', bare)
            if name:
                found.append(name.group(1))
        return found


def comment_text(comment):
    """The words of a comment, without its stars."""
    lines = comment.strip()[2:-2].split('\n')
    return '\n'.join(re.sub(r'^\s*\* ?', '', line).rstrip() for line in lines).strip()


def tokens(text):
    """('comment' or 'code' or 'gap', text) of a header's lines."""
    at, lines = 0, text.split('\n')
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            yield 'gap', ''
            at += 1
        elif line.startswith('/*'):
            first = at
            while '*/' not in lines[at]:
                at += 1
            at += 1
            yield 'comment', '\n'.join(lines[first:at])
        else:
            first, depth = at, 0
            while True:
                bare = re.sub(r'/\*.*?(\*/|$)|^\s*\*.*|^[^/]*\*/', '', lines[at])
                depth += bare.count('{') + bare.count('(') - bare.count('}') - bare.count(')')
                is_macro = lines[first].startswith('#')
                at += 1
                if (is_macro and not lines[at - 1].endswith('\\')) or (not is_macro and depth <= 0 and
                                                                       bare.rstrip().endswith((';', '{', '}'))):
                    break
            # a comment behind the last line goes on below it
            while lines[at - 1].count('/*') > lines[at - 1].count('*/') and at < len(lines):
                at += 1
                if '*/' in lines[at - 1]:
                    break
            yield 'code', '\n'.join(lines[first:at])


def read(path):
    """(what the header is for, [title or Entry or text])"""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'#ifdef __cplusplus\n.*?\n#endif\n', '', file.read(), flags=re.S)
    intro, parts, entry, comment = None, [], None, None
    for kind, piece in tokens(text):
        if kind == 'comment' and intro is None:
            intro = re.sub(r'^.*? - ', '', comment_text(piece), count=1).split('SPDX')[0].strip()
        elif kind == 'comment' and re.match(r'/\* -{8,}', piece):
            title, _, more = re.sub(r'^-+\s*', '', comment_text(piece)).partition('\n')
            parts.append(('title', title.strip()))
            parts += [('text', more.strip())] if more.strip() else []
            entry = comment = None
        elif kind == 'comment':
            comment, entry = comment_text(piece), None
        elif kind == 'gap':
            parts += [('text', comment)] if comment else []
            entry = comment = None
        elif not re.match(r'#(if|el|end|include)|extern "C"|\}\s*$|#define SPLATSMITH_\w+_H$', piece):
            if not entry:
                entry = Entry(comment)
                parts.append(('entry', entry))
            entry.code.append(piece)
            comment = None
    return intro, parts


def markdown_of(text, links):
    """Paragraphs of a comment; names of the library lead to their places."""
    out = []
    for part in re.split(r'\n\s*\n', text or ''):
        part = ' '.join(line.strip() for line in part.split('\n'))
        pieces = re.split(r'(`[^`]*`|\b(?:splat|SPLAT)_\w+(?:\(\))?)', part)
        for i, piece in enumerate(pieces):
            name = piece.rstrip('()')
            if name in links:
                pieces[i] = f'<a href="{links[name]}.html#{name}"><code>{piece}</code></a>'
            elif re.match(r'(splat|SPLAT)_\w', piece):
                pieces[i] = f'`{piece}`'
            elif not piece.startswith('`'):
                pieces[i] = re.sub(r'([\\*<>\[\]#|~])', r'\\\1', piece)
        text = ''.join(pieces)
        out.append(re.sub(r'^([-+]|\d+\.)(?=\s)', r'\\\1', text))
    return '\n\n'.join(out)


def sentence(text, limit=110):
    first = re.split(r'(?<=[.:;])\s', ' '.join((text or '').split()), maxsplit=1)[0]
    return first if len(first) <= limit else first[:limit].rsplit(' ', 1)[0] + ' ...'


def page(name, intro, parts, links):
    out = [f'# splatsmith/{name}.h\n', markdown_of(intro[:1].upper() + intro[1:], links) + '\n',
           f'```c\n#include <splatsmith/{name}.h>\n```\n']
    if parts and parts[0][0] != 'title':
        parts = [('title', 'declarations'), *parts]
    for kind, part in parts:
        if kind == 'title':
            out.append(f'## {part[:1].upper() + part[1:]}\n')
        elif kind == 'text':
            out.append(markdown_of(part, links) + '\n')
        else:
            names = part.names()
            out.append(''.join(f'<a id="{n}"></a>' for n in names) + '\n')
            out.append('### ' + ', '.join(f'`{n}`' for n in names[:3]) + (' ...' if len(names) > 3 else '') + '\n')
            if part.comment:
                out.append(markdown_of(part.comment, links) + '\n')
            out.append('```c\n' + '\n'.join(part.code) + '\n```\n')
    return '\n'.join(out)


def write(headers, folder):
    """index.md and a page a header."""
    os.makedirs(folder)
    names = sorted((n[:-2] for n in os.listdir(headers) if n.endswith('.h')),
                   key=lambda n: (ORDER.index(n) if n in ORDER else len(ORDER), n))
    files = {name: read(os.path.join(headers, name + '.h')) for name in names}
    links = {n: name for name, (_, parts) in files.items() for kind, part in parts if kind == 'entry'
             for n in part.names()}
    index = '# The C library\n\n`#include <splatsmith.h>` is all of it; link with ' \
            '`pkg-config --cflags --libs splatsmith`. What the command line does goes through these functions.\n\n' \
            '| header | |\n|---|---|\n'
    for name, (intro, parts) in files.items():
        index += f'| [splatsmith/{name}.h]({name}.md) | {markdown_of(sentence(intro, 400), links)} |\n'
        with open(os.path.join(folder, name + '.md'), 'w', encoding='utf-8') as out:
            out.write(page(name, intro, parts, links))
    index += '\n## All functions\n\n| function | |\n|---|---|\n'
    for function in sorted(n for n in links if n.startswith('splat_')):
        name = links[function]
        part = next(p for kind, p in files[name][1] if kind == 'entry' and function in p.names())
        if any(re.search(rf'\b{function}\s*\(', code) for code in part.code):
            about = markdown_of(sentence(part.comment), links)
            index += f'| <a href="{name}.html#{function}"><code>{function}</code></a> | {about} |\n'
    index += '\n```{toctree}\n:hidden:\n\n' + '\n'.join(names) + '\n```\n'
    with open(os.path.join(folder, 'index.md'), 'w', encoding='utf-8') as out:
        out.write(index)
