"""The device memory of a running process as the driver reports it, for the measurements in this folder."""
import subprocess
import threading
import time


class Sampler(threading.Thread):
    """The largest device memory of a process on one GPU, in MiB: nvidia-smi's figure, context included; 0 without
    nvidia-smi, or when it saw none; sampled every 50 ms. start() begins, end() gives the peak."""

    def __init__(self, gpu, pid):
        super().__init__(daemon=True)
        self.gpu, self.pid, self.peak, self.ended = str(gpu), str(pid), 0, False

    def run(self):
        query = ["nvidia-smi", "-i", self.gpu, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
        while not self.ended:
            try:
                rows = subprocess.run(query, capture_output=True, text=True, check=False).stdout.split("\n")
            except OSError:
                return
            cells = [[c.strip() for c in row.split(",")] for row in rows if "," in row]
            # One process a GPU: in a container the pid may be the host's.
            used = [int(c[1]) for c in cells if c[1].isdigit() and (len(cells) == 1 or c[0] == self.pid)]
            self.peak = max([self.peak] + used)
            time.sleep(0.05)

    def end(self):
        self.ended = True
        self.join()
        return self.peak
