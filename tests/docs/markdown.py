"""As much of Markdown as the documents of this repository use: code, links, headings and their anchors."""
import os, re

SKIPPED = re.compile(r'^(\.|build|node_modules|demo_out|release$|shared$)')  # folders with what is not ours, or not yet


def documents(root):
    """Paths of all .md files, relative to the root of the repository."""
    found = []
    for at, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not SKIPPED.match(name))
        found += [os.path.relpath(os.path.join(at, name), root) for name in names if name.endswith('.md')]
    return sorted(found)


class Document:
    """prose: (number, text) of the lines outside code; blocks: (number of the first line, lines) of each piece of code."""

    def __init__(self, text):
        self.prose, self.blocks = [], []
        fence, block, before, in_list = None, None, '', False
        for number, line in enumerate(text.split('\n'), 1):
            mark = re.match(r'\s*(`{3,}|~{3,})', line)
            if fence:
                if mark and mark.group(1)[0] == fence[0] and len(mark.group(1)) >= len(fence) and \
                        not line.strip().strip(fence[0]):
                    fence = None
                else:
                    self.blocks[-1][1].append(line)
            elif mark:
                fence = mark.group(1)
                self.blocks.append((number + 1, []))
            elif line.startswith('    ') and (block is not None or (not before.strip() and not in_list)):
                if block is None:
                    block = (number, [])
                    self.blocks.append(block)
                block[1].append(line[4:])
            else:
                if block is not None and not line.strip():
                    block[1].append('')  # it may go on after this
                    continue
                block = None
                if line.strip():
                    in_list = bool(re.match(r'\s*([*+-]|\d+\.)\s', line)) or (in_list and line.startswith(' '))
                self.prose.append((number, line))
            before = line

    def headings(self):
        """(number of the line, level, text)"""
        for (number, line), (_, below) in zip(self.prose, self.prose[1:] + [(0, '')]):
            found = re.match(r'(#{1,6})\s+(.*?)\s*#*$', line)
            if found:
                yield number, len(found.group(1)), found.group(2)
            elif line.strip() and re.match(r'(=+|-+)\s*$', below) and not line.startswith(('|', '-', '=', '#')):
                yield number, 1 if below[0] == '=' else 2, line.strip()

    def anchors(self):
        """Texts that may follow a '#', as forges make them of headings."""
        counts, found = {}, set()
        for _, _, text in self.headings():
            name = slug(text)
            n = counts.get(name, 0)
            counts[name] = n + 1
            found.add(f'{name}-{n}' if n else name)
        for _, line in self.prose:
            found.update(re.findall(r'<a\s+(?:id|name)="([^"]+)"', line))
        return found

    def links(self):
        """(number of the line, target)"""
        defined = {}
        for number, line in self.prose:
            found = re.match(r'\[([^\]]+)\]:\s+(\S+)', line)
            if found:
                defined[found.group(1).lower()] = (number, found.group(2))
        yield from defined.values()
        for number, line in joined(self.prose):
            line = without_code(line)
            for target in re.findall(r'\]\(\s*<?([^()\s>]*(?:\([^()\s]*\)[^()\s>]*)*)>?(?:\s+"[^"]*")?\s*\)', line):
                yield number, target
            for target in re.findall(r'<(https?://[^>]*)>', line) + re.findall(r'(?:href|src)="([^"]*)"', line):
                yield number, target
            for text, name in re.findall(r'\[([^\[\]]+)\]\[([^\[\]]*)\]', line):
                if (name or text).lower() not in defined:
                    yield number, f'[{name or text}], which is not defined'

    def spans(self):
        """(number of the line, code) of the code inside paragraphs, also where it goes over the end of a line."""
        for number, text in joined(self.prose):
            for _, code in re.findall(r'(`+)(?!`)(.*?[^`])\1(?!`)', text):
                yield number, code.strip()


def joined(lines):
    """(number, text) of paragraphs and of rows of tables."""
    number, parts = 0, []
    for at, line in [*lines, (0, '')]:
        ends = not line.strip() or line.startswith(('|', '#')) or re.match(r'\s*([*+-]|\d+\.)\s', line)
        if ends and parts:
            yield number, ' '.join(parts)
            parts = []
        if line.strip():
            number = number if parts else at
            parts.append(line.strip())


def without_code(text):
    return re.sub(r'(`+)(?!`)(.*?[^`])\1(?!`)', 'code', text)


def slug(heading):
    """The anchor that forges give a heading: small letters, without punctuation, spaces as hyphens."""
    text = re.sub(r'!?\[([^\]]*)\]\([^)]*\)', r'\1', heading)
    text = re.sub(r'[`*]', '', text).strip().lower()
    return ''.join('-' if c == ' ' else c for c in text if c.isalnum() or c in ' -_')
