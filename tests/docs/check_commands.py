"""Every command line of the documents, and of the program's own help, is one that the program takes: its commands,
options and values are read as always, and then, as --help stands before them, nothing is run.

    check_commands.py PROGRAM SOURCE"""
import os, re, shlex, subprocess, sys
from markdown import Document, documents

# Placeholders for further words.
FURTHER = re.compile(r'(\[[^\]]*\]|\.\.\.|OPTIONS)$')
# Words that may come before the program in a call.
BEFORE = re.compile(r'(\w+=.*|time|nice|nohup|mpirun|-n|\d+|R)$')
# Values in capital letters, or from one number to another, stand for others: some that options take are tried instead.
PLACEHOLDER = re.compile(r'([A-Z][A-Z_]*|\d+\.\.\d+)$')
NUMBERS = ('2', '8', '0.5', '8G', '1,2,3', 'True')


def statements(lines):
    """(number, text) of commands: lines that end with a backslash go on."""
    text, first = '', 0
    for number, line in enumerate(lines):
        first = first if text else number
        text += re.sub(r'^\$ ', '', line.rstrip()) if not text else ' ' + line.strip()
        if text.endswith('\\'):
            text = text[:-1]
            continue
        yield first, text
        text = ''


def words_of(text):
    """The words after `splatsmith`, of each time that a line calls it."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars='|&;<>()')
    lexer.whitespace_split = True
    lexer.commenters = '#'
    try:
        words = list(lexer)
    except ValueError:  # an apostrophe: prose, or what a program prints
        return
    call = []
    for word in [*words, ';']:
        if word and set(word) <= set('|&;<>()'):
            while call and BEFORE.match(call[0]):
                call.pop(0)
            if len(call) > 1 and call[0].split('/')[-1] == 'splatsmith' and not PLACEHOLDER.match(call[1]):
                yield [w.strip('[]') for w in call[1:] if not FURTHER.match(w)]
            call = []
        else:
            call.append(word)


def run(program, words):
    command = words[0] if words[0].startswith('-') else None
    line = [program, *words] if command else [program, words[0], '--help=true', *words[1:]]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stderr.strip()


def problem_of(program, words, is_prose=False):
    """The program's complaint about these words, or None. Prose may name an option without its value."""
    code, said = run(program, words)
    if code == 0 or (is_prose and said.endswith('needs a value')):
        return None
    places = [i for i, w in enumerate(words) if PLACEHOLDER.match(w)]
    for number in NUMBERS:
        if code and places and run(program, [number if i in places else w for i, w in enumerate(words)])[0] == 0:
            return None
    return said or f'exit code {code}'


def calls_of(text):
    """(number of the line, words, whether they stand in prose) of every call in a document."""
    document = Document(text)
    for first, lines in document.blocks:
        for number, line in statements(lines):
            if 'usage:' not in line:
                for words in words_of(line):
                    yield first + number, words, False
    for number, code in document.spans():
        if re.match(r'(\S+/)?splatsmith\s', code):
            for words in words_of(code):
                yield number, words, True


def help_texts(program):
    """(command, its help) of all commands."""
    listed = subprocess.run([program, '--help'], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r'^  ([a-z-]+)  ', listed, re.M):
        yield name, subprocess.run([program, 'help', name, 'all'], capture_output=True, text=True, check=True).stdout


def examples_of(text):
    """The examples in a help: what is set in by two spaces and calls the program."""
    for _, line in statements(text.split('\n')):
        if line.startswith('  splatsmith '):
            yield from words_of(line)


def main(program, root):
    n, problems = 0, []
    for document in documents(root):
        with open(os.path.join(root, document), encoding='utf-8') as file:
            for number, words, is_prose in calls_of(file.read()):
                n += 1
                problem = problem_of(program, words, is_prose)
                if problem:
                    problems.append(f'{document}:{number}: splatsmith {" ".join(words)}\n    {problem}')
    for name, text in help_texts(program):
        for words in examples_of(text):
            n += 1
            problem = problem_of(program, words)
            if problem:
                problems.append(f'help of {name}: splatsmith {" ".join(words)}\n    {problem}')
    print('\n'.join(problems))
    print(f'{n} calls of the program, {len(problems)} that it does not take')
    if n < 100:
        print('so few calls: they are not found any more')
    return 1 if problems or n < 100 else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])))
