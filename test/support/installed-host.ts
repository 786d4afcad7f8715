import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { NetworkLab } from './network-lab.ts'
import { UnitRunner } from './unit-runner.ts'

/*
 * A machine of a network lab on which packages are installed: this one's root under an overlay that
 * is thrown away, so that dpkg writes to its own disk and database. The project itself is hidden.
 */

const project = resolve(import.meta.dirname, '..', '..')

/** Mounts the root, and stays until its input ends. Arguments: folder, what is hidden. */
const MOUNT = `set -e
folder=$1 root=$1/root
mount -t tmpfs tmpfs "$folder/disk"
mkdir "$folder/disk/upper" "$folder/disk/work"
mount -t overlay -o "lowerdir=/,upperdir=$folder/disk/upper,workdir=$folder/disk/work" overlay "$root"
for each in proc sys dev; do mount --rbind "/$each" "$root/$each"; done
for each in run tmp "$2"; do mkdir -p "$root/$each"; mount -t tmpfs tmpfs "$root/$each"; done
mkdir -p "$root/run/systemd/system" "$root/run/bridge" "$root/packages"
mount --bind "$folder/bridge" "$root/run/bridge"
mount --bind -o ro "$3" "$root/packages"
echo mounted
cat > /dev/null`

/** Hands each call to the test and gives back its answer. */
const SYSTEMCTL = `#!/bin/sh
ask=/run/bridge/$$
mkfifo "$ask.answer"
printf '%s\\n' "$*" > "$ask.new"
mv "$ask.new" "$ask.ask"
read -r code text < "$ask.answer"
[ -z "$text" ] || echo "$text" >&2
exit "$code"
`

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/** Why no such machine can be made here; false when it can. */
export const findInstallObstacle = (): string | false => {
  const installed = ['/opt/shoal', '/opt/shoal-coordinator', '/etc/shoal'].find(existsSync)
  if (installed !== undefined) return `${installed} is on this machine already`
  const folder = makeFolders()
  const words = ['--mount', 'sh', '-c', `${MOUNT}; exit`, 'sh', folder, project, folder]
  try {
    execFileSync('unshare', words, { input: '', stdio: 'pipe' })
    return false
  } catch (error) {
    return `an overlay cannot be mounted here: ${(error as Error).message.split('\n').at(-2)}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const makeFolders = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-host-'))
  for (const name of ['disk', 'root', 'bridge']) mkdirSync(join(folder, name))
  return folder
}

export class InstalledHost implements AsyncDisposable {
  readonly #folder: string
  readonly #holder: ChildProcess
  readonly #units: UnitRunner

  private constructor(folder: string, holder: ChildProcess) {
    this.#folder = folder
    this.#holder = holder
    const inside = join(folder, 'root')
    this.#units = new UnitRunner({
      root: inside,
      bridge: join(folder, 'bridge'),
      enter: this.#enter,
    })
  }

  /** `packages` is the folder in which commands run; `names` go into /etc/hosts. */
  static async create(
    lab: NetworkLab,
    name: string,
    { packages, names }: { packages: string; names: string },
  ): Promise<InstalledHost> {
    const folder = makeFolders()
    const words = ['--mount', 'sh', '-c', MOUNT, 'sh', folder, project, packages]
    const holder = lab.start(name, 'unshare', words)
    await Promise.race([
      once(holder.stdout as NodeJS.ReadableStream, 'data'),
      once(holder, 'exit').then(() => Promise.reject(new Error('the root was not mounted'))),
    ])
    const host = new InstalledHost(folder, holder)
    await host.run(
      'cat > /usr/local/sbin/systemctl && chmod 755 /usr/local/sbin/systemctl',
      SYSTEMCTL,
    )
    await host.run('cat > /etc/hosts', names)
    // the index of the manual pages of the whole machine, which dpkg renews for each package
    await host.run('rm -f /var/lib/man-db/auto-update')
    return host
  }

  /** The words before a command that runs it on this machine. */
  readonly #enter = (...words: string[]): [command: string, args: string[]] => [
    'nsenter',
    [
      '--target',
      `${this.#holder.pid}`,
      '--mount',
      '--net',
      'chroot',
      join(this.#folder, 'root'),
      ...words,
    ],
  ]

  /** Runs a line as root, in the folder of the packages. Throws with its output when it fails. */
  async run(line: string, input: string | Buffer = ''): Promise<string> {
    const environment = ['env', '-i', `PATH=${PATH}`, 'HOME=/root', 'LANG=C.UTF-8']
    const script = `cd /packages && ${line}`
    const [command, args] = this.#enter(...environment, 'sh', '-euc', script)
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    child.stdin.on('error', () => {})
    child.stdin.end(input)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (bytes: Buffer) => (text += bytes.toString()))
    const [code] = await once(child, 'close')
    if (code === 0) return text
    throw new Error(`${line}\nended with code ${code}:\n${text}\n${this.#units.log()}`)
  }

  /** Output of the services. */
  log(): string {
    return this.#units.log()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#units[Symbol.asyncDispose]()
    this.#holder.stdin?.end()
    if (this.#holder.exitCode === null) await once(this.#holder, 'exit')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Writes the hosts file of a lab. */
export const hostsFile = (addresses: Record<string, string>): string =>
  [
    '127.0.0.1 localhost',
    ...Object.entries(addresses).map(([name, at]) => `${at} ${name}`),
    '',
  ].join('\n')
