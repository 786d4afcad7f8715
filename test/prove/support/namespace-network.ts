import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import type { Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openDoor } from './door.ts'
import type { Network } from './network.ts'

/** Addresses for tests of devices (RFC 2544, appendix C.2.2). */
const SUBNET = '198.18.0.0/15'
const STORE_PORT = 5432

const ip = (...args: string[]): boolean => spawnSync('ip', args).status === 0

/**
 * A network namespace of one coordinator, linked with this one by a pair of interfaces. Its HTTP port
 * is reached by a unix socket, so that cutting the link cuts it from PostgreSQL alone.
 */
export class NamespaceNetwork implements Network {
  readonly kind = 'network namespaces'
  readonly subnet = SUBNET
  readonly hostAddress: string
  readonly storePort = STORE_PORT
  readonly wrap: readonly string[]
  readonly #name: string
  readonly #link: string
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-door-'))
  #door: ChildProcess | undefined
  #server: Server | undefined

  private constructor(index: number) {
    const network = `198.18.${process.pid % 250}`
    this.#name = `shoal-${process.pid}-${index}`
    this.#link = `sh${process.pid}n${index}`
    this.hostAddress = `${network}.${index * 4 + 1}`
    this.wrap = ['ip', 'netns', 'exec', this.#name]
  }

  /** Undefined where namespaces cannot be created: that takes root and iproute2. */
  static create(count: number): NamespaceNetwork[] | undefined {
    const spaces: NamespaceNetwork[] = []
    for (let index = 0; index < count; index++) {
      const space = new NamespaceNetwork(index)
      spaces.push(space)
      if (space.#create(index)) continue
      for (const each of spaces) each.#remove()
      return undefined
    }
    return spaces
  }

  /** Forwards the port here to the same port in the namespace. */
  async openDoor(port: number): Promise<void> {
    const path = join(this.#folder, 'door')
    const [command = '', ...words] = this.wrap
    const script = join(import.meta.dirname, 'namespace-door.ts')
    const args = [path, port, this.hostAddress, STORE_PORT].map(String)
    const door = spawn(command, [...words, process.execPath, script, ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#door = door
    await once(createInterface({ input: door.stdout }), 'line')
    this.#server = await openDoor({ port, host: '127.0.0.1' }, { path })
  }

  blackhole(): void {
    ip('link', 'set', this.#link, 'down')
  }

  heal(): void {
    ip('link', 'set', this.#link, 'up')
  }

  async close(): Promise<void> {
    this.#server?.close()
    if (this.#door !== undefined && this.#door.exitCode === null) {
      const ended = once(this.#door, 'exit')
      this.#door.stdin?.end()
      await ended
    }
    this.#remove()
  }

  #create(index: number): boolean {
    const inside = `${this.#link}i`
    const address = `${this.hostAddress.replace(/\d+$/, '')}${index * 4 + 2}/30`
    const within = ['-n', this.#name]
    return (
      ip('netns', 'add', this.#name) &&
      ip('link', 'add', this.#link, 'type', 'veth', 'peer', 'name', inside, 'netns', this.#name) &&
      ip('address', 'add', `${this.hostAddress}/30`, 'dev', this.#link) &&
      ip(...within, 'address', 'add', address, 'dev', inside) &&
      ip('link', 'set', this.#link, 'up') &&
      ip(...within, 'link', 'set', inside, 'up') &&
      ip(...within, 'link', 'set', 'lo', 'up')
    )
  }

  /** The pair of interfaces goes with the namespace. */
  #remove(): void {
    ip('link', 'del', this.#link)
    ip('netns', 'del', this.#name)
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
