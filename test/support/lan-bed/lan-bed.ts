import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { addressOf, BED_BYSTANDER, BED_HOSTS, BED_SCANNER, type BedHost } from './hosts.ts'
import { Namespaces, readIn } from './namespaces.ts'
import { PATH, prepareProgram } from './programs.ts'

const HOST = join(import.meta.dirname, 'host.ts')
const SCAN = join(import.meta.dirname, 'scan.ts')

/** What `scan.ts` was asked for. */
export interface ScanOrder {
  module: string
  input?: object
  scope: string[]
}

export interface ScanReport {
  rows: Record<string, unknown>[]
  warnings: string[]
  elapsedMs: number
  /** Longest delay of the event loop of the process that asked for the scan. */
  loopDelayMaxMs: number
}

/** Twelve hosts, a scanner and a bystander on one link, all in namespaces of their own. */
export class LanBed {
  readonly namespaces: Namespaces
  readonly scanner: string
  readonly bystander: string
  /** Real programs that run, by name. */
  readonly programs: string[] = []
  readonly #children: ChildProcess[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-lan-'))

  private constructor(namespaces: Namespaces) {
    this.namespaces = namespaces
    this.scanner = namespaces.addHost('scanner', `${BED_SCANNER}/24`)
    this.bystander = namespaces.addHost('bystander', `${BED_BYSTANDER}/24`)
  }

  /** The bed, or the reason why there is none here. */
  static async create(): Promise<LanBed | string> {
    const namespaces = Namespaces.create()
    if (typeof namespaces === 'string') return namespaces
    const bed = new LanBed(namespaces)
    try {
      await Promise.all(BED_HOSTS.map((host, index) => bed.#start(host, index)))
    } catch (error) {
      await bed.close()
      throw error
    }
    return bed
  }

  /** Runs modules, one after another, in a helper of a process in the scanner's namespace. */
  scan(orders: readonly ScanOrder[]): Promise<ScanReport[]> {
    return this.#report([SCAN, JSON.stringify(orders)])
  }

  /** Runs a program in the namespace of the scanner and returns what it printed. */
  run(...words: string[]): string {
    return readIn(this.scanner, ...words)
  }

  async close(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null) continue
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    this.namespaces.remove()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #report(args: string[]): Promise<ScanReport[]> {
    const child = this.#spawn(this.scanner, [process.execPath, ...args])
    const lines: string[] = []
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', line =>
      lines.push(line),
    )
    const [code] = await once(child, 'close')
    if (code !== 0) throw new Error(`the scan ended with ${code}:\n${lines.join('\n')}`)
    return JSON.parse(lines.at(-1) ?? '[]')
  }

  async #start(host: BedHost, index: number): Promise<void> {
    const name = this.namespaces.addHost(host.label, `${addressOf(index)}/24`)
    if (host.isHidden) this.namespaces.hideFrom(name, BED_SCANNER)
    const folder = mkdtempSync(join(this.#folder, 'host-'))
    const words = host.program === undefined ? undefined : prepareProgram(host.program, folder)
    const child = this.#spawn(name, words ?? [process.execPath, HOST, JSON.stringify(host)])
    if (words === undefined) {
      await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')
      return
    }
    this.programs.push(host.program as string)
    await this.#waitFor(name, host.services?.[0]?.port ?? 0)
  }

  /** Waits until a program listens: it says so in `/proc/net/tcp` of its namespace. */
  async #waitFor(name: string, port: number): Promise<void> {
    const listening = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`
    for (let tries = 0; tries < 200; tries++) {
      if (readIn(name, 'cat', '/proc/net/tcp').includes(listening)) return
      await new Promise(resolve => setTimeout(resolve, 25))
    }
    throw new Error(`nothing listens at port ${port} of ${name}`)
  }

  #spawn(name: string, words: string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', name, ...words], {
      env: { ...process.env, PATH },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    this.#children.push(child)
    return child
  }
}
