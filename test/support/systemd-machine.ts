import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { NetworkLab } from './network-lab.ts'
import { waitUntil } from './wait-until.ts'

/*
 * A machine of a network lab that systemd runs as process 1, in namespaces of its own: the root is a
 * Debian under an overlay, and its control groups are a subtree of this machine's. Its disk outlives
 * it, so that it can lose its power and start again.
 */

/** Becomes the first process. Arguments: folder of the machine, the Debian, its name, the packages. */
const BOOT = `set -e
folder=$1 root=$1/root base=$2 name=$3 packages=$4
mount --make-rprivate /
mount -t overlay -o "lowerdir=$base,upperdir=$folder/upper,workdir=$folder/work" overlay "$root"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for each in dev run tmp; do mount -t tmpfs -o mode=755 tmpfs "$root/$each"; done
chmod 1777 "$root/tmp"
mkdir "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
ln -s pts/ptmx "$root/dev/ptmx"
ln -s /proc/self/fd "$root/dev/fd"
node() { mknod -m 666 "$root/dev/$1" c "$2" "$3"; }
node null 1 3; node zero 1 5; node full 1 7; node random 1 8; node urandom 1 9; node tty 5 0
mkdir -p "$root/packages" "$root/run/old"
mount --bind -o ro "$packages" "$root/packages"
hostname "$name"
cd "$root"
pivot_root . run/old
umount -l run/old
# systemd moves mounts between the namespaces of its services, which a container has to allow
mount --make-rshared /
exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init --log-target=journal
`

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Finds the folder of this machine's unified control groups: mounts(5) of proc. */
const findControlGroups = (): string => {
  const mount = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map(line => line.split(' '))
    .find(([, , type]) => type === 'cgroup2')
  if (mount?.[1] === undefined) throw new Error('this machine has no unified control groups')
  return mount[1]
}

const removeGroups = (folder: string): void => {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroups(join(folder, entry.name))
  rmdirSync(folder)
}

interface MachineParts {
  lab: NetworkLab
  /** Name of the machine in the lab. */
  name: string
  /** Folder of a Debian with systemd; it is not changed. */
  base: string
  /** Folder that becomes the disk of the machine. */
  folder: string
  /** Folder in which commands run. */
  packages: string
  /** Text of /etc/hosts. */
  hosts: string
}

export class SystemdMachine implements AsyncDisposable {
  readonly #parts: MachineParts
  readonly #group = join(findControlGroups(), `shoal-${randomBytes(3).toString('hex')}`)
  #process: { unshare: ChildProcess; init: number } | undefined

  private constructor(parts: MachineParts) {
    this.#parts = parts
  }

  static async create(parts: MachineParts): Promise<SystemdMachine> {
    for (const name of ['root', 'upper/etc', 'work'])
      mkdirSync(join(parts.folder, name), { recursive: true })
    writeFileSync(join(parts.folder, 'upper/etc/hosts'), parts.hosts)
    const machine = new SystemdMachine(parts)
    await machine.boot()
    return machine
  }

  /** Starts systemd and waits until it has started all units. */
  async boot(): Promise<void> {
    const { lab, name, base, folder, packages } = this.#parts
    mkdirSync(this.#group, { recursive: true })
    const namespaces = ['--mount', '--pid', '--uts', '--ipc', '--cgroup', '--fork', '--kill-child']
    const join_ = `echo $$ > ${this.#group}/cgroup.procs; exec unshare "$@"`
    const boot = ['sh', '-c', BOOT, 'sh', folder, base, name, packages]
    const unshare = lab.start(name, 'sh', ['-c', join_, 'sh', ...namespaces, ...boot])
    let text = ''
    for (const stream of [unshare.stdout, unshare.stderr])
      stream?.on('data', (bytes: Buffer) => (text += bytes.toString()))
    const children = `/proc/${unshare.pid}/task/${unshare.pid}/children`
    const init = await waitUntil('the first process runs', () => {
      if (unshare.exitCode !== null) throw new Error(`systemd did not start: ${text}`)
      return Number(readFileSync(children, 'utf8').trim().split(' ')[0])
    })
    this.#process = { unshare, init }
    const isUp = async () => /running|degraded/.test(await this.#ask('systemctl is-system-running'))
    await waitUntil(`systemd of ${name} is up`, isUp, 200)
  }

  /** Ends everything at once, as a power failure does, except that what was written stays written. */
  async cutPower(): Promise<void> {
    if (this.#process === undefined) return
    const { unshare, init } = this.#process
    this.#process = undefined
    const ended = once(unshare, 'exit')
    process.kill(init, 'SIGKILL')
    await ended
    const events = join(this.#group, 'cgroup.events')
    const isEmpty = () => readFileSync(events, 'utf8').includes('populated 0')
    await waitUntil('the control groups are empty', isEmpty)
    removeGroups(this.#group)
  }

  /** Runs a line as root, in the folder of the packages. Throws with its output when it fails. */
  async run(line: string, input: string | Buffer = ''): Promise<string> {
    const { code, text } = await this.#enter(`cd /packages && ${line}`, input)
    if (code === 0) return text
    const journal = await this.#ask('journalctl --no-pager --quiet --boot --lines 40')
    throw new Error(`${line}\nended with code ${code}:\n${text}\n${journal}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cutPower()
  }

  async #ask(line: string): Promise<string> {
    return (await this.#enter(line, '')).text
  }

  async #enter(line: string, input: string | Buffer): Promise<{ code: number; text: string }> {
    const target = ['--target', `${this.#process?.init}`, '--mount', '--pid', '--uts', '--ipc']
    const spaces = [...target, '--net', '--cgroup', '--root', '--wd']
    const environment = ['env', '-i', `PATH=${PATH}`, 'HOME=/root', 'LANG=C.UTF-8', 'TERM=dumb']
    const words = [...spaces, ...environment, 'sh', '-euc', line]
    const child = spawn('nsenter', words, { stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
    const [code] = await once(child, 'close')
    return { code: code as number, text }
  }
}
