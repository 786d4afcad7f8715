import type { ChildProcess } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { NetworkLab } from './network-lab.ts'
import { waitUntil } from './wait-until.ts'

/** A service that avahi publishes from a file (avahi.service(5)). */
export interface AvahiService {
  name: string
  type: string
  port: number
  txt?: readonly string[]
}

const BUS = (folder: string): string => `<busconfig><type>system</type>
<listen>unix:path=${folder}/bus</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/>
<allow own="*"/></policy></busconfig>`

const DAEMON = (hostName: string): string => `[server]
host-name=${hostName}
use-ipv6=yes
allow-interfaces=eth0
[publish]
publish-hinfo=no
publish-aaaa-on-ipv4=yes
publish-workstation=no
`

/** Start of avahi in a mount namespace of its own, as it has fixed paths below /run and /etc. */
const START = `mount -t tmpfs tmpfs /run
mount --bind "$1/services" /etc/avahi/services
dbus-daemon --config-file="$1/bus.conf" --nofork --nopidfile &
while [ ! -S "$1/bus" ]; do sleep 0.05; done
DBUS_SYSTEM_BUS_ADDRESS="unix:path=$1/bus" exec avahi-daemon -f "$1/avahi.conf" \\
  --no-drop-root --no-chroot --no-rlimits`

const escapeXml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

const serviceFile = ({ name, type, port, txt = [] }: AvahiService): string =>
  `<service-group><name>${escapeXml(name)}</name><service><type>${type}</type><port>${port}</port>${txt
    .map(each => `<txt-record>${escapeXml(each)}</txt-record>`)
    .join('')}</service></service-group>`

/** A resolved line of avahi-browse: `instance|type|host|port|address`. */
type BrowseLine = string

/** A real avahi-daemon with a D-Bus of its own, on a machine of a lab. */
export class Avahi implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-avahi-'))
  readonly #lab: NetworkLab
  readonly #host: string

  #child: ChildProcess | undefined

  private constructor(lab: NetworkLab, host: string) {
    this.#lab = lab
    this.#host = host
  }

  /** Ready when its services are registered. */
  static async start(
    lab: NetworkLab,
    host: string,
    services: readonly AvahiService[] = [],
  ): Promise<Avahi> {
    const avahi = new Avahi(lab, host)
    const folder = avahi.#folder
    mkdirSync(join(folder, 'services'))
    for (const [at, service] of services.entries())
      writeFileSync(join(folder, 'services', `${at}.service`), serviceFile(service))
    writeFileSync(join(folder, 'bus.conf'), BUS(folder))
    writeFileSync(join(folder, 'avahi.conf'), DAEMON(host))
    const child = lab.start(host, 'unshare', [
      '-m',
      '-p',
      '-f',
      '--kill-child',
      'sh',
      '-c',
      START,
      'sh',
      folder,
    ])
    avahi.#child = child
    let log = ''
    child.stderr?.on('data', bytes => {
      log += bytes
    })
    const isReady = () => log.split('successfully established').length > services.length
    try {
      await waitUntil('avahi starts', () => isReady() && log.includes('Server startup complete'))
    } catch (error) {
      throw new Error(log, { cause: error })
    }
    return avahi
  }

  /** Ends the daemon, which says goodbye for its services. */
  async stop(): Promise<void> {
    await this.#lab.run(this.#host, 'pkill', ['-P', String(this.#child?.pid), '-TERM'])
  }

  /** What avahi-browse finds on the network, all types, resolved. */
  async browse(): Promise<BrowseLine[]> {
    const address = `DBUS_SYSTEM_BUS_ADDRESS=unix:path=${this.#folder}/bus`
    const text = await this.#lab.run(this.#host, 'env', [
      address,
      'avahi-browse',
      '-a',
      '-r',
      '-t',
      '-p',
      '-k',
    ])
    const lines = text
      .split('\n')
      .filter(line => line.startsWith('=;eth0;'))
      .map(line => line.split(';').map(unescapeField))
    return [
      ...new Set(
        lines.map(([, , , name, type, , host, address, port]) =>
          [name, type, host, port, address].join('|'),
        ),
      ),
    ].toSorted()
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** avahi-browse writes special bytes as a backslash and three decimal digits. */
const unescapeField = (text: string): string =>
  Buffer.from(
    text
      .replace(/\\([.\\])/g, '$1')
      .replace(/\\(\d{3})/g, (_, digits) => String.fromCharCode(Number(digits))),
    'latin1',
  ).toString()
