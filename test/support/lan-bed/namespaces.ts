import { spawnSync } from 'node:child_process'

const ip = (...words: string[]): void => {
  const { status, stderr, error } = spawnSync('ip', words, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${error?.message ?? stderr}`)
}

/** Runs a command line in a namespace and returns what it printed. */
export const readIn = (name: string, ...words: string[]): string =>
  spawnSync('ip', ['netns', 'exec', name, ...words], { encoding: 'utf8' }).stdout

/**
 * Network namespaces that hang on one switch, which is a namespace with a bridge. Interfaces never
 * appear outside of them.
 */
export class Namespaces {
  readonly #prefix = `shoal-lan-${process.pid}`
  readonly #names: string[] = []
  readonly #switch: string

  private constructor() {
    this.#switch = this.#add('switch')
    ip('-n', this.#switch, 'link', 'add', 'bridge', 'type', 'bridge')
    ip('-n', this.#switch, 'link', 'set', 'bridge', 'up')
  }

  /** The namespaces, or the reason why there can be none here. */
  static create(): Namespaces | string {
    if (process.getuid?.() !== 0) return 'network namespaces take root'
    try {
      return new Namespaces()
    } catch (error) {
      return `network namespaces cannot be created: ${(error as Error).message}`
    }
  }

  /** Adds a host with addresses on the switch; returns the name of its namespace. */
  addHost(label: string, address: string): string {
    const name = this.#add(label)
    const port = `p${this.#names.length}`
    const pair = ['type', 'veth', 'peer', 'name', 'eth0', 'netns', name]
    ip('-n', this.#switch, 'link', 'add', port, ...pair)
    ip('-n', this.#switch, 'link', 'set', port, 'master', 'bridge', 'up')
    ip('-n', name, 'address', 'add', address, 'dev', 'eth0')
    ip('-n', name, 'link', 'set', 'eth0', 'up')
    return name
  }

  /** Makes a host drop its answers to an address, as a firewall does. */
  hideFrom(name: string, address: string): void {
    ip('-n', name, 'route', 'add', 'blackhole', address)
  }

  /** Number of IP packets that a namespace received (proc_pid_net(5), `snmp`). */
  countReceived(name: string): number {
    return readCounter(readIn(name, 'cat', '/proc/net/snmp'), 'Ip', 'InReceives')
  }

  remove(): void {
    for (const name of this.#names.splice(0)) spawnSync('ip', ['netns', 'del', name])
  }

  #add(label: string): string {
    const name = `${this.#prefix}-${label}`
    ip('netns', 'add', name)
    this.#names.push(name)
    // its own chatter would be counted
    readIn(name, 'sh', '-c', 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6')
    ip('-n', name, 'link', 'set', 'lo', 'up')
    return name
  }
}

/** The table has a line of names and a line of values for each protocol. */
const readCounter = (table: string, protocol: string, counter: string): number => {
  const [names = '', values = ''] = table
    .split('\n')
    .filter(line => line.startsWith(`${protocol}:`))
  return Number(values.split(' ')[names.split(' ').indexOf(counter)])
}
