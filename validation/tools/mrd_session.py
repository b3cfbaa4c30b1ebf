"""The client's side of an MRD session (app/server/messages.hpp), for tests and studies of `fhd serve`."""
import ctypes, os, re, signal, socket, struct, subprocess, threading, time

import h5py
import ismrmrd
import numpy as np

CONFIGURATION_NAME, CONFIGURATION_TEXT, HEADER, CLOSE, TEXT = 1, 2, 3, 4, 5
ACQUISITION, IMAGE, WAVEFORM = 1008, 1022, 1026


class Server:
    """`fhd serve` at a free port, for the time of a with statement."""

    def __init__(self, program, *options, environment=None):
        self.command = [program, "serve", "--port", "0", *options]
        self.environment = {**os.environ, **(environment or {})}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                        env=self.environment)
        self.out, self.err = [], []
        for stream, lines in ((self.process.stdout, self.out), (self.process.stderr, self.err)):
            threading.Thread(target=lambda s=stream, l=lines: [l.append(x.rstrip("\n")) for x in s], daemon=True).start()
        until = time.time() + 30
        while time.time() < until and self.process.poll() is None:
            found = [re.fullmatch(r"listening at .*:(\d+)", line) for line in self.out]
            if any(found):
                self.port = int(next(f for f in found if f).group(1))
                return self
            time.sleep(0.01)
        raise RuntimeError("the server does not listen: " + "\n".join(self.out + self.err))

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """The exit status after SIGTERM."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=60)
        time.sleep(0.05)  # the last lines
        return status

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+) kB", status.read()).group(1)) * 1024

    def processor_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))


def acquisition(acq):
    """The message of an ismrmrd.Acquisition."""
    return (struct.pack("<H", ACQUISITION) + bytes(acq.getHead()) +
            np.ascontiguousarray(acq.traj, np.float32).tobytes() +
            np.ascontiguousarray(acq.data, np.complex64).tobytes())


def text(number, content):
    content = content.encode()
    return struct.pack("<HI", number, len(content)) + content


def name(content):
    return struct.pack("<H", CONFIGURATION_NAME) + content.encode().ljust(1024, b"\0")


def close():
    return struct.pack("<H", CLOSE)


def packed(kind):
    """A type of HDF5 without gaps: some writers align the members of heads, which the package does not expect."""
    if kind.subdtype:
        return np.dtype((packed(kind.subdtype[0]), kind.subdtype[1]))
    return np.dtype([(name, packed(kind.fields[name][0])) for name in kind.names]) if kind.names else kind


def scan_of(path, group="dataset"):
    """Header and acquisitions of a file, as messages; the header as it stands in the file."""
    with h5py.File(path, "r") as file:
        header = file[group + "/xml"][...].ravel()[0]
        records = file[group + "/data"][...].ravel()
    heads, messages = records["head"].astype(packed(records["head"].dtype)), []
    for head, traj, data in zip(heads, records["traj"], records["data"]):
        acq = ismrmrd.Acquisition(ismrmrd.AcquisitionHeader.from_buffer_copy(head.tobytes()))
        acq.traj[:] = np.asarray(traj).reshape(acq.traj.shape)
        acq.data[:] = np.asarray(data).view(np.complex64).reshape(acq.data.shape)
        messages.append(acquisition(acq))
    return header.decode() if isinstance(header, bytes) else header, messages


class Client:
    """A session; what the server answers is collected by a thread, with the time at which each image was there."""

    def __init__(self, port, reads=True, receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.images, self.texts, self.times, self.closed, self.failure = [], [], [], False, None
        self.reader = threading.Thread(target=self._read, daemon=True)
        if reads:
            self.reader.start()

    def send(self, message):
        """False where the server has ended the session."""
        try:
            self.socket.sendall(message)
            return True
        except OSError:
            return False

    def session(self, header, acquisitions, configuration=None):
        """A whole session: the images."""
        if configuration is not None:
            self.send(text(CONFIGURATION_TEXT, configuration))
        self.send(text(HEADER, header))
        for one in acquisitions:
            self.send(one)
        self.send(close())
        return self.wait()

    def wait(self, seconds=300):
        self.reader.join(seconds)
        self.socket.close()
        if self.reader.is_alive():
            raise RuntimeError("the server does not end the session")
        return self.images

    def end(self):
        """At once, also where the reader waits: what it waits for keeps the connection open."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()

    def _exactly(self, count):
        parts = []
        while count > 0:
            part = self.socket.recv(min(count, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _read(self):
        try:
            while True:
                number = struct.unpack("<H", self._exactly(2))[0]
                if number == CLOSE:
                    self.closed = True
                elif number == TEXT:
                    length = struct.unpack("<I", self._exactly(4))[0]
                    self.texts.append(self._exactly(length).decode())
                elif number == IMAGE:
                    self.images.append(self._image())
                    self.times.append(time.perf_counter())
                else:
                    raise RuntimeError(f"message {number}")
        except (EOFError, OSError):
            pass
        except Exception as failure:  # told by whoever waits
            self.failure = failure

    def _image(self):
        head = ismrmrd.ImageHeader.from_buffer_copy(self._exactly(ctypes.sizeof(ismrmrd.ImageHeader)))
        length = struct.unpack("<Q", self._exactly(8))[0]
        attributes = self._exactly(length).decode()
        kind = {5: np.float32, 7: np.complex64}[head.data_type]
        shape = (head.channels, head.matrix_size[2], head.matrix_size[1], head.matrix_size[0])
        values = np.frombuffer(self._exactly(int(np.prod(shape)) * np.dtype(kind).itemsize), kind).reshape(shape)
        return head, ismrmrd.Meta.deserialize(attributes), values
