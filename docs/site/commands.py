"""Pages of the commands, made of the program's own help."""
import os, re, subprocess

IGNORED = 'Accepted without effect'
OPTION = r' {2}(-\w, | {4})--'  # how its line begins


def ask(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, check=True).stdout


def page(name, text):
    """Markdown of a command's help."""
    usage, _, rest = text.partition('\n\n')
    out, group, heading, body = [], None, None, []

    def end_option():
        nonlocal heading, body
        if heading:  # the entry of the index brings the option to the top of a search for its name
            name = re.search(r'--\w+', heading).group()
            out.append(f'```{{index}} single: {name}\n```\n\n`{heading}`\n: {plain(" ".join(body))}\n')
        heading, body = None, []

    out.append(f'# splatsmith {name}\n\n```text\n{usage.replace("usage: ", "")}\n```\n')
    lines = rest.split('\n')
    about, at = [], 0
    while at < len(lines) and not is_group(lines, at):
        about.append(lines[at])
        at += 1
    out.append(paragraphs('\n'.join(about).removeprefix(f'{name}: ')))
    for number in range(at, len(lines)):
        line = lines[number]
        if is_group(lines, number):
            end_option()
            group = line
            out.append(f'\n## {group}\n')
        elif group == IGNORED:
            out += [' '.join(f'`{word}`' for word in line.split())] if line.strip() else []
        elif re.match(OPTION, line):
            end_option()
            parts = re.split(r'\s{2,}', line.strip(), maxsplit=1)
            heading, body = parts[0], parts[1:]
        elif line.strip():
            body.append(line.strip())
    end_option()
    return '\n'.join(out)


def is_group(lines, at):
    """A word of its own at the margin, with options below it."""
    line = lines[at]
    below = next((text for text in lines[at + 1:] if text.strip()), '')
    return bool(re.match(r'[A-Z][\w ,-]*$', line)) and (bool(re.match(OPTION, below)) or line == IGNORED)


def plain(text):
    text = re.sub(r'([\\*<\[\]|])', r'\\\1', text)
    return re.sub(r'(?<![\w`-])(--?[a-zA-Z]\w*)', r'`\1`', text)


def paragraphs(text):
    """Sentences as they are; what is set in, as code."""
    out = []
    for part in re.split(r'\n\s*\n', text.strip()):
        if part.startswith('  '):
            out.append('```text\n' + '\n'.join(line[2:] for line in part.split('\n')) + '\n```')
        else:
            out.append(plain(part[:1].upper() + part[1:]) + ('' if part.endswith(('.', ':')) else '.'))
    return '\n\n'.join(out) + '\n'


def write(program, folder):
    """index.md and a page a command."""
    os.makedirs(folder)
    listed = re.findall(r'^  ([a-z-]+)\s{2,}(.*)$', ask(program, '--help'), re.M)
    index = '# Commands\n\n`splatsmith COMMAND [options]`. In names of options `-` and `_` are the same, ' \
            'and a beginning that fits one option is enough.\n\n| command | |\n|---|---|\n'
    for name, summary in listed:
        index += f'| [{name}]({name}.md) | {plain(summary)} |\n'
        with open(os.path.join(folder, name + '.md'), 'w', encoding='utf-8') as out:
            out.write(page(name, ask(program, 'help', name, 'all')))
    index += '\n```{toctree}\n:hidden:\n\n' + '\n'.join(name for name, _ in listed) + '\n```\n'
    with open(os.path.join(folder, 'index.md'), 'w', encoding='utf-8') as out:
        out.write(index)
