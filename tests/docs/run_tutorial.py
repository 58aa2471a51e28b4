"""Runs the command lines of docs/tutorial.md as they stand there, one after the other, with an installed program: a line
that fails, or that leaves out what it names, fails this.

    run_tutorial.py SOURCE FOLDER SEEN COMMAND...

FOLDER: an empty one; SEEN: its name where the program runs; COMMAND: what runs a shell there (chroot ROOT, or env). What
is changed in the lines, and why, is said below; a change that no line asks for any more fails, too."""
import os, re, shutil, signal, subprocess, sys, tempfile, time, urllib.request
from check_commands import calls_of

SAMPLE = ['--width', '112', '--height', '84', '--cameras', '18', '--supersample', '1']
SMALL_STAGES = ['--coarse_iterations', '7100', '--regularize_after', '7050', '--poisson_depth', '6',
                '--refinement_iterations', '40']  # 100, 50 and 40 steps
LEAST_CALLS = 18


class Failure(Exception):
    pass


class Tutorial:
    def __init__(self, source, folder, seen, command):
        self.folder, self.seen, self.command, self.changed = folder, seen, command, {}
        with open(os.path.join(source, 'docs/tutorial.md'), encoding='utf-8') as file:
            text = file.read()
        # The last way through begins again, in a folder of its own.
        self.second = text[:text.index('\n## Without a video')].count('\n') + 1
        self.after = text[:text.index('\n## When it does not work')].count('\n') + 1
        self.calls = sorted((number, words) for number, words, _ in calls_of(text))

    def path(self, name, at):
        return os.path.join(self.folder, at, name)

    def start(self, words, at, **more):
        script = f'cd {self.seen}/{at} && exec splatsmith "$@"'
        return subprocess.Popen([*self.command, 'sh', '-c', script, 'sh', *words], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True, **more)

    def run(self, words, at, code=0):
        process = self.start(words, at, stderr=subprocess.STDOUT)
        said = process.communicate(timeout=300)[0]
        if process.returncode != code:
            raise Failure(f'exit code {process.returncode}, not {code}\n{said[-3000:]}')
        return said

    def change(self, name, words):
        self.changed[name] = self.changed.get(name, 0) + 1
        return words

    def cameras(self, words, at):
        """The clean root has neither COLMAP nor ffmpeg, which are hundreds of packages (tests/capture runs them). As typed
        the line must end with the sentence that says what to install; then a sample stands for the scene of the photos."""
        photos, scene = words[1], words[words.index('-o') + 1]
        alone = tempfile.mkdtemp(dir=self.folder)  # it may be another way to the same scene
        if photos.endswith('.mp4'):
            open(os.path.join(alone, photos), 'wb').close()
        else:
            shutil.copytree(self.path('data/statue/images', at), os.path.join(alone, photos))
        said = self.run(words, os.path.basename(alone), 1)
        if not re.search(r'needs? (ffmpeg|COLMAP).* install it \(apt-get install (ffmpeg|colmap)\)', said, re.S):
            raise Failure(f'it does not say what to install:\n{said}')
        if not os.path.exists(self.path(scene, at)):
            self.run(self.change('sample', ['sample', scene, *SAMPLE]), at)

    def view(self, words, at):
        """A page until it is ended, at any port that is free, and asked for once."""
        process = self.start([*words, '--port', '0'], at, stderr=subprocess.PIPE)
        try:
            address = process.stdout.readline().strip()
            if not address.startswith('http://'):
                process.kill()
                raise Failure(f'it prints no address: {process.communicate()[1]}')
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=30) as page:
                if b'<canvas' not in page.read():
                    raise Failure(f'{address} is no page that shows something')
            process.send_signal(signal.SIGINT)
            if process.wait(60) != 0:
                raise Failure(f'exit code {process.returncode} after Ctrl-C')
        finally:
            process.kill()
            process.communicate()

    def small(self, words, at):
        """The line with few steps, and the viewer at a port that is free. What is edited in Blender is as it was."""
        words = list(words)
        if '--iterations' in words:
            words[words.index('--iterations') + 1] = '100'
            self.change('steps', None)
        if '--viewer' in words:
            words.insert(words.index('--viewer') + 1, '0')
            self.change('viewer', None)
        if '--refinement_time' in words:
            i = words.index('--refinement_time')
            words[i:i + 2] = self.change('stages', SMALL_STAGES)
        if words[0] == 'sample':
            words += self.change('size', SAMPLE)
        if '--deform' in words:
            shutil.copy(self.path('out/statue_mesh/refined_mesh.ply', at),
                        self.path(self.change('edited', words[words.index('--deform') + 1]), at))
        said = self.run(words, at)
        if '--viewer' in words and not re.search(r'^http://\S+token=', said, re.M):
            raise Failure(f'the viewer prints no address:\n{said}')

    def go(self):
        for number, words in self.calls:
            at = 'without_video' if self.second < number < self.after else 'video'
            os.makedirs(self.path('', at), exist_ok=True)
            begin = time.monotonic()
            try:
                {'cameras': self.cameras, 'view': self.view}.get(words[0], self.small)(words, at)
                for word in words[1:] if words[0] != 'cameras' else ():
                    if re.match(r'(data|out)/|[a-z_]+\.\w+$', word) and not os.path.exists(self.path(word, at)):
                        raise Failure(f'there is no {word}')
            except (Failure, OSError, subprocess.TimeoutExpired) as failure:
                raise Failure(f'docs/tutorial.md:{number}: splatsmith {" ".join(words)}\n{failure}') from failure
            print(f'{time.monotonic() - begin:5.1f} s: splatsmith {" ".join(words)}', flush=True)
        unused = {'sample', 'steps', 'viewer', 'stages', 'size', 'edited'} - set(self.changed)
        if unused or len(self.calls) < LEAST_CALLS:
            raise Failure(f'{len(self.calls)} lines, and none that asks for {sorted(unused)}: they are not found any more')
        print(f'{len(self.calls)} command lines of the tutorial were run')


def main(source, folder, seen, *command):
    try:
        Tutorial(source, folder, seen, command).go()
    except Failure as failure:
        sys.exit(str(failure))


main(*sys.argv[1:])
