"""Every measured figure in the tables for readers has a source. A figure of docs/performance.md appears in the laboratory
diary, or in a file of bench/results if it has at least four digits or counts millions. A figure of README.md appears in
docs/performance.md or docs/comparison.md. A source may have more digits.

    check_figures.py SOURCE"""
import bisect, glob, os, re, sys

NUMBER = re.compile(r'(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w.]*\d)')
# Commands, links and dates, which are no measurements; and means, which no single run has.
NO_FIGURE = re.compile(r'`[^`]*`|\]\([^)]*\)|20\d\d-\d\d(?:-\d\d)?|[\d,.]+ \(mean of \d+\)')


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def numbers(text):
    return [n.replace(',', '') for n in NUMBER.findall(text)]


def figures(text):
    """(line, figure) in the tables of a document; small whole numbers are counts and options."""
    for line in text.split('\n'):
        if line.startswith('|'):
            for figure in numbers(NO_FIGURE.sub('', line)):
                if '.' in figure or len(figure) > 2:
                    yield line, figure


def has(values, figure, unit=1.0):
    """True if a value rounds to the figure, which counts units."""
    half = unit * (0.5 * 10 ** -len(figure.partition('.')[2]) + 1e-9)
    place = bisect.bisect_left(values, unit * float(figure) - half)
    return place < len(values) and values[place] <= unit * float(figure) + half


def main(root):
    diary = ''.join(read(path) for path in glob.glob(os.path.join(root, 'docs/lab/*.md')))
    results = ''.join(read(path) for path in glob.glob(os.path.join(root, 'bench/results/*.json')))
    exact = sorted(float(n) for n in re.findall(r'\d+(?:\.\d+)?(?:e-?\d+)?', results))
    performance, readme = read(root, 'docs/performance.md'), read(root, 'README.md')
    n, failed = 0, 0
    for name, text, sources in (
            ('docs/performance.md', performance.partition('\n## The data')[0], diary),
            ('README.md', readme, performance + read(root, 'docs/comparison.md'))):
        found = sorted(float(n) for n in numbers(sources))
        for line, figure in figures(text):
            n += 1
            is_exact = name != 'README.md' and \
                (has(exact, figure) if len(figure.replace('.', '').lstrip('0')) > 3 else has(exact, figure, 1e6))
            if not has(found, figure) and not is_exact:
                failed += 1
                print(f'{name}: {figure} has no source: {line[:100]}')
    print(f'{n} figures, {failed} without a source')
    if n < 100:
        print('so few figures: they are not found any more')
    return 1 if failed or n < 100 else 0


if __name__ == '__main__':
    sys.exit(main(os.path.abspath(sys.argv[-1])))
