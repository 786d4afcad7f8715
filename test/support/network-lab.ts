import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const env = { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` }

const ip = (...args: string[]): boolean => spawnSync('ip', args, { env }).status === 0

/** Why tests with network namespaces cannot run here; false when they can. */
export const namespacesMissing: string | false = (() => {
  const probe = `shoal-probe-${randomBytes(3).toString('hex')}`
  if (process.getuid?.() !== 0) return 'network namespaces need root'
  if (!ip('netns', 'add', probe)) return 'network namespaces cannot be made here'
  const veth = `sp${randomBytes(3).toString('hex')}`
  const hasVeth = ip('link', 'add', veth, 'netns', probe, 'type', 'veth')
  ip('netns', 'del', probe)
  return hasVeth ? false : 'virtual Ethernet pairs cannot be made here'
})()

/** Why a program of a test cannot run; false when it is installed. */
export const programMissing = (name: string): string | false =>
  spawnSync('which', [name], { env }).status === 0 ? false : `${name} is not installed`

/** Machines on one Ethernet segment, each a network namespace; nothing leaves the segment. */
export class NetworkLab implements AsyncDisposable {
  readonly #id = randomBytes(3).toString('hex')
  readonly #names: string[] = []
  readonly #running = new Set<ChildProcess>()

  constructor() {
    this.#create('sw')
    this.#ip('sw', 'link', 'add', 'br0', 'type', 'bridge', 'mcast_snooping', '0')
    this.#ip('sw', 'link', 'set', 'br0', 'up')
  }

  /** Adds a machine with these addresses, such as `10.9.0.2/24`. */
  addHost(name: string, ...cidrs: string[]): void {
    this.#create(name)
    const port = `p-${name}`
    const peer = ['peer', 'name', 'eth0', 'netns', this.namespaceOf(name)]
    this.#ip('sw', 'link', 'add', port, 'type', 'veth', ...peer)
    this.#ip('sw', 'link', 'set', port, 'master', 'br0', 'up')
    for (const cidr of cidrs) this.#ip(name, 'addr', 'add', cidr, 'dev', 'eth0')
    this.#ip(name, 'link', 'set', 'eth0', 'up', 'multicast', 'on')
    this.#ip(name, 'route', 'add', '224.0.0.0/4', 'dev', 'eth0')
  }

  /** Makes a machine drop what it would send to an address, as a firewall does. */
  hideFrom(name: string, address: string): void {
    this.#ip(name, 'route', 'add', 'blackhole', address)
  }

  /** Sends packets for a network to another machine. */
  addRoute(name: string, network: string, gateway: string): void {
    this.#ip(name, 'route', 'add', network, 'via', gateway)
  }

  /** Starts a program on a machine; it ends with the lab. */
  start(name: string, command: string, args: readonly string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', this.namespaceOf(name), command, ...args], {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#running.add(child)
    child.once('exit', () => this.#running.delete(child))
    child.stderr?.resume()
    return child
  }

  /** Runs a program to its end and returns its standard output. */
  async run(name: string, command: string, args: readonly string[]): Promise<string> {
    const child = this.start(name, command, args)
    const texts: Buffer[] = []
    child.stdout?.on('data', (bytes: Buffer) => texts.push(bytes))
    await once(child, 'close')
    return Buffer.concat(texts).toString()
  }

  /** Runs a program that prints JSON lines, from a file of the tests. */
  async runScript(name: string, file: string, ...args: readonly string[]): Promise<unknown[]> {
    const path = join(import.meta.dirname, file)
    const text = await this.run(name, process.execPath, [path, ...args])
    return text
      .split('\n')
      .filter(line => line !== '')
      .map(line => JSON.parse(line))
  }

  /** UDP packets that a machine has sent to the network (`/proc/net/snmp`, OutDatagrams). */
  async countSentUdp(name: string): Promise<number> {
    const text = await this.run(name, 'cat', ['/proc/net/snmp'])
    const [names = [], values = []] = text
      .split('\n')
      .filter(line => line.startsWith('Udp:'))
      .map(line => line.split(' '))
    return Number(values[names.indexOf('OutDatagrams')])
  }

  namespaceOf(name: string): string {
    return `shoal-${this.#id}-${name}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = [...this.#running]
    for (const child of running) child.kill('SIGKILL')
    await Promise.all(
      running.map(child => child.exitCode ?? child.signalCode ?? once(child, 'exit')),
    )
    for (const name of this.#names) ip('netns', 'del', this.namespaceOf(name))
  }

  #create(name: string): void {
    const namespace = this.namespaceOf(name)
    if (!ip('netns', 'add', namespace)) throw new Error(`no namespace for ${name}`)
    this.#names.push(name)
    // IPv6 addresses are usable at once, without the check for duplicates
    const noCheck = 'echo 0 > /proc/sys/net/ipv6/conf/default/accept_dad'
    ip('netns', 'exec', namespace, 'sh', '-c', noCheck)
    this.#ip(name, 'link', 'set', 'lo', 'up')
  }

  #ip(name: string, ...args: string[]): void {
    if (!ip('-n', this.namespaceOf(name), ...args)) throw new Error(`ip ${args.join(' ')} failed`)
  }
}

/** Resolves when a program prints a line that fits. */
export const waitForLine = async (child: ChildProcess, pattern: RegExp): Promise<string> => {
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream }))
    if (pattern.test(line)) return line
  throw new Error(`the program ended before it printed ${pattern}`)
}
