"""A soak: long processes and loops of commands on a small generated scene, watched for whatever grows.

    soak.py PROGRAM SOAK_LIBRARY FOLDER HOURS [BACKEND]    # scripts/soak.sh builds both and calls it

At once run, each with one thread: a training with its viewer, which clients watch, pause and leave; `view`, which
clients ask for pages, pictures and nonsense; a program that makes and frees everything of the library (library.c); and
rounds of commands: train, go on from a checkpoint, eval, render, export, mesh, texture. Ten seconds apart, or a fortieth of
the time, are noted the resident memory, open handles, threads and memory of the GPU of the long ones (samples.csv); of the
rounds, the most memory of each command, the bytes of the disk, and hashes of all results, which must be those of the first
round. What the first quarter of the time shows is warming up. BACKEND: cpu, which is the default, or cuda, with
--deterministic. Ends with a table, and with 1 where something grew, failed or came out otherwise."""
import hashlib, os, re, shutil, signal, subprocess, sys, threading, time
from clients import Annoyance, Watching

EVERY = 10.0        # seconds between samples, at most
LEEWAY_KIB = 2048   # what resident memory may differ by, and ...
LEEWAY_SHARE = 0.02  # ... this share of it: allocators keep what they got
SCENE = ['--width', '160', '--height', '120', '--cameras', '24', '--points', '1500', '--truth_points', '1000']
BACKEND = sys.argv[5] if len(sys.argv) > 5 else 'cpu'
QUIET = ['--threads', '1', '--backend', BACKEND, '--deterministic']


class Failure(Exception):
    pass


def number_of(pid, what):
    """Memory and threads of a process, from /proc: VmRSS and VmHWM (KiB), Threads."""
    with open(f'/proc/{pid}/status') as file:
        return int(dict(line.split(':', 1) for line in file if ':' in line)[what].split()[0])


def gpu_memory():
    """MiB of each process that has a GPU, by its number, as the driver tells; of all 0 on the CPU."""
    if BACKEND == 'cpu':
        return {}
    said = subprocess.run(['nvidia-smi', '--query-compute-apps=pid,used_memory', '--format=csv,noheader,nounits'],
                          capture_output=True, text=True).stdout
    rows = [line.split(',') for line in said.splitlines()]
    return {int(pid): int(mib) for pid, mib in rows if pid.strip().isdigit() and mib.strip().isdigit()}


def state_of(pid, gpu):
    """(resident KiB, open handles, threads, MiB of the GPU) of a process."""
    return (number_of(pid, 'VmRSS'), len(os.listdir(f'/proc/{pid}/fd')), number_of(pid, 'Threads'), gpu.get(pid, 0))


def floors(values):
    """The least of the second and of the last quarter: what is there when nothing is under way."""
    quarter = max(1, len(values) // 4)
    return min(values[quarter:2 * quarter] or values), min(values[-quarter:])


def a_problem_of(name, values, leeway, of=floors):
    """Says that the floor rose, or None."""
    before, after = of(values)
    return f'{name} grew from {before} to {after}' if after - before > leeway(before) else None


def memory_leeway(kib):
    return max(LEEWAY_KIB, LEEWAY_SHARE * kib)


def tops(values):
    """The most of the second and of the last quarter: for what is seldom seen at rest."""
    return tuple(-least for least in floors([-value for value in values]))


class Long:
    """A process that runs until the end; `said` is what it said, `samples` its states, `rests` those (but of the GPU) that
    it reported itself when nothing was under way."""

    def __init__(self, name, words, sign=None, ends_with=0):
        self.name, self.ends_with, self.said, self.address = name, ends_with, '', None
        self.samples, self.rests = [], []
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.found, self.sign = threading.Event(), sign
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if sign and not self.found.wait(120):
            raise Failure(f'{name} did not begin:\n{self.said[-2000:]}')

    def read(self):
        for line in self.process.stdout:
            self.said = (self.said + line)[-20000:]
            rest = re.match(r'\d+ [0-9a-f]{16} (\d+) (\d+) (\d+)$', line)
            if rest:
                self.rests.append(tuple(int(number) for number in rest.groups()))
            match = self.sign and not self.address and re.match(self.sign, line)
            if match:
                self.address = match.group(0).strip()
                self.found.set()

    def sample(self, gpu):
        if self.process.poll() is None:
            self.samples.append(state_of(self.process.pid, gpu))

    def end(self, with_signal=None):
        ended_before = self.process.poll() is not None
        if with_signal and not ended_before:
            self.process.send_signal(with_signal)
        code = self.process.wait(600)
        self.reader.join(10)
        if code != self.ends_with or (with_signal and ended_before):
            raise Failure(f'{self.name} ended with {code}{", too early" if ended_before else ""}:\n{self.said[-3000:]}')

    def problems(self):
        rss, handles, threads = zip(*(self.rests or (sample[:3] for sample in self.samples)))
        gpu = [sample[3] for sample in self.samples]
        found = [a_problem_of('resident KiB', rss, memory_leeway), a_problem_of('handles', handles, lambda n: 2),
                 a_problem_of('threads', threads, lambda n: 1),
                 a_problem_of('MiB of the GPU', gpu, lambda n: 2, tops)]
        if BACKEND != 'cpu' and not max(gpu):
            found.append('the driver tells no memory of it on the GPU')
        return [f'{self.name}: {problem}' for problem in found if problem]

    def row(self, what):
        rss, handles, threads = zip(*(self.rests or (sample[:3] for sample in self.samples)))
        most, gpu = max(sample[0] for sample in self.samples), [sample[3] for sample in self.samples]
        (first, last), (h1, h2), (t1, t2), (g1, g2) = floors(rss), floors(handles), floors(threads), tops(gpu)
        return (f'| {self.name} | {what} | {first / 1024:.1f} | {last / 1024:.1f} | {most / 1024:.1f} '
                f'| {h1} -> {h2} | {t1} -> {t2} |' + f' {g1} -> {g2} |' * (BACKEND != 'cpu'))


def size_of(folder):
    return sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(folder) for name in names
               if os.path.exists(os.path.join(at, name)))


class Rounds:
    """The commands of the program, one after the other, from a scene to a painted mesh."""

    def __init__(self, program, folder):
        self.program, self.folder, self.n, self.hashes = program, folder, 0, {}
        self.peaks, self.disk, self.problems = {}, [], []

    def run(self, *words):
        words += () if words[0] == 'mesh-report' else tuple(QUIET)
        process = subprocess.Popen([self.program, *words], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True)
        said, peak = [], 0
        reader = threading.Thread(target=lambda: said.append(process.stdout.read()))
        reader.start()
        while process.poll() is None:  # what wait4 tells has the memory of this interpreter in it
            try:
                peak = max(peak, number_of(process.pid, 'VmHWM'))
            except (KeyError, FileNotFoundError):  # it ends
                pass
            time.sleep(0.005)
        reader.join()
        if process.returncode:
            raise Failure(f'{" ".join(words)}: exit code {process.returncode}\n{said[0][-2000:]}')
        if peak:  # it was seen before it ended
            self.peaks.setdefault(words[0], []).append(peak)

    def keep(self, *paths):
        """Checks that these files and folders are the same in every round."""
        for path in paths:
            whole = os.path.join(self.folder, path)
            files = sorted(os.path.join(at, name) for at, _, names in os.walk(whole) for name in names) or [whole]
            for file in files:
                name = os.path.relpath(file, self.folder)
                with open(file, 'rb') as bytes_of:
                    found = hashlib.sha256(bytes_of.read()).hexdigest()
                if self.hashes.setdefault(name, found) != found:
                    self.problems.append(f'round {self.n}: {name} has other bytes than in the first round')

    def go(self):
        self.n += 1
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.run('sample', 'scene', *SCENE)
        self.keep('scene')
        train = ['train', '-s', 'scene', '--eval', '-n', '240', '--target_gaussian_count', '2K']
        self.run(*train, '-m', 'whole', '--checkpoint_iterations', '120', '--densify_from_iter', '50')
        self.run(*train, '-m', 'parts', '--start_checkpoint', 'whole/chkpnt120.splatsmith', '--densify_from_iter', '50')
        splat = 'point_cloud/iteration_240/point_cloud.ply'
        self.keep(f'whole/{splat}', 'whole/chkpnt120.splatsmith', f'parts/{splat}')
        if self.hashes[f'whole/{splat}'] != self.hashes[f'parts/{splat}']:
            self.problems.append(f'round {self.n}: what went on from a checkpoint has another splat')
        self.run('eval', '-m', 'whole')
        self.run('render', '-m', 'whole', '--skip_train')
        self.keep('whole/test')
        for ending in ('ply', 'compressed.ply', 'spz', 'splat', 'glb', 'usda', 'html'):
            self.run('export', '-m', 'whole', '-o', f'out.{ending}')
            self.keep(f'out.{ending}')
        self.run('mesh', '-m', 'whole', '-o', 'mesh.ply', '--method', 'tsdf')
        self.run('texture', '-s', 'scene', '-m', 'mesh.ply', '-o', 'painted.glb')
        self.run('mesh-report', 'mesh.ply', '--reference', 'scene/ground_truth.ply')
        self.keep('mesh.ply', 'painted.glb')
        self.disk.append(size_of(self.folder))

    def judge(self):
        for command, peaks in self.peaks.items():
            problem = a_problem_of(f'the most resident KiB of {command}', peaks, memory_leeway)
            if problem:
                self.problems.append(f'rounds: {problem}')
        if len(set(self.disk)) > 1 and max(self.disk) - min(self.disk) > 65536:  # logs and pages have times in them
            self.problems.append(f'rounds: the disk holds {min(self.disk)} to {max(self.disk)} bytes after a round')
        return self.problems


def begin(program, library, folder, seconds):
    """The long processes, after one round that makes the scene and the model they take."""
    first = Rounds(program, os.path.join(folder, 'first'))
    first.go()
    scene, model = os.path.join(folder, 'first/scene'), os.path.join(folder, 'first/whole')
    address = r'http://\S+'
    train = Long('training with viewer', [
        program, 'train', '-s', scene, '-m', os.path.join(folder, 'training'), '--eval', '-n', '100000000',
        '--target_gaussian_count', '2K', '--densify_until_iter', '1500', '--checkpoint_interval', '5000',
        '--test_iterations', *(str(n) for n in range(5000, 5000 * 1000, 5000)),
        '--viewer', '0', '--sibr', '0', *QUIET], address, 130)
    view = Long('view', [program, 'view', model, '--port', '0', '--sibr', '0', *QUIET], address)
    made = os.path.join(folder, 'library')
    os.makedirs(made)
    return [train, view, Long('library', [library, scene, made, str(int(seconds)), BACKEND])]


def make_folder(folder):
    """Empty; what an earlier soak left goes, anything else stays."""
    mark = os.path.join(folder, 'of_a_soak')
    if os.path.isdir(folder) and os.listdir(folder) and not os.path.exists(mark):
        sys.exit(f'{folder} has files that are not of a soak; name another folder')
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    open(mark, 'w', encoding='utf-8').close()


def main(program, library, folder, hours):
    seconds, start = 3600 * hours, time.monotonic()
    make_folder(folder)
    train, view, made = long = begin(program, library, folder, seconds)
    clients = [Watching(train.address, view.said), Annoyance(view.address, lambda: view.said)]
    rounds, failed = Rounds(program, os.path.join(folder, 'round')), []
    disk = []

    def sample():
        while not done.wait(min(EVERY, seconds / 40)):
            gpu = gpu_memory()
            for process in long:
                process.sample(gpu)
            with open(os.path.join(folder, 'samples.csv'), 'a', encoding='utf-8') as out:
                for process in long:
                    state = ','.join(str(n) for n in process.samples[-1]) if process.samples else ''
                    out.write(f'{time.monotonic() - start:.0f},{process.name},{state}\n')
            disk.append(size_of(os.path.join(folder, 'training')))

    done = threading.Event()
    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        while time.monotonic() - start < seconds:
            rounds.go()
            print(f'{(time.monotonic() - start) / 60:.0f} min: {rounds.n} rounds, '
                  + ', '.join(f'{p.name} {p.samples[-1][0] // 1024} MiB' for p in long if p.samples), flush=True)
            if any(p.process.poll() not in (None, 0) for p in long):
                raise Failure('a long process ended')
    except Failure as failure:
        failed.append(str(failure))
    except KeyboardInterrupt:
        print('it is to end here')
    for client in clients:
        client.stop()
    done.set()
    sampler.join()
    for process, how in ((train, signal.SIGINT), (view, signal.SIGTERM), (made, None)):
        try:
            process.end(how)
        except (Failure, subprocess.TimeoutExpired) as failure:
            process.process.kill()
            failed.append(str(failure))
    failed += [problem for process in long for problem in process.problems()]
    failed += [f'{client.name}: {client.failure}' for client in clients if client.failure] + rounds.judge()
    report(long, clients, rounds, disk, time.monotonic() - start, failed)
    return 1 if failed else 0


def report(long, clients, rounds, disk, seconds, failed):
    train, view, made = long
    n_made = (re.findall(r'^(\d+) ', made.said, re.M) or ['0'])[-1]
    steps = max((int(n) for n in re.findall(r'\b(\d+)/100000000', train.said)), default=0)
    print(f'\n{seconds / 60:.0f} minutes, {len(train.samples)} samples; MiB and counts are the least of the second and '
          'of the last quarter\n')
    on_gpu = BACKEND != 'cpu'
    print('| process | what it did | MiB before | MiB after | MiB at most | handles | threads |'
          + ' MiB of the GPU |' * on_gpu)
    print('|---|---|---|---|---|---|---|' + '---|' * on_gpu)
    print(train.row(f'{steps} steps; {clients[0].summary()}'))
    print(view.row(clients[1].summary()))
    print(made.row(f'{n_made} rounds'))
    for command, peaks in sorted(rounds.peaks.items()):
        first, last = floors(peaks)
        print(f'| {command} | {len(peaks)} times | {first / 1024:.1f} | {last / 1024:.1f} | {max(peaks) / 1024:.1f} '
              '| | |' + ' |' * on_gpu)
    print(f'\n{rounds.n} rounds, {len(rounds.hashes)} files each with the bytes of the first round; '
          f'{rounds.disk[-1] / 1e6 if rounds.disk else 0:.1f} MB on the disk after each. The folder of the training '
          f'grew from {disk[0] / 1e6:.2f} to {disk[-1] / 1e6:.2f} MB.')
    for problem in failed:
        print('FAILED:', problem)
    print('nothing grew' if not failed else f'{len(failed)} problems')


if len(sys.argv) not in (5, 6):
    sys.exit(__doc__)
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
signal.signal(signal.SIGTERM, signal.default_int_handler)
sys.exit(main(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), os.path.abspath(sys.argv[3]),
              float(sys.argv[4])))
