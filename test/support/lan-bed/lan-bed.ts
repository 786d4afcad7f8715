import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Avahi } from '../avahi.ts'
import { NetworkLab, namespacesMissing, programMissing, waitForLine } from '../network-lab.ts'
import { startSnmpd } from '../snmpd.ts'
import { waitUntil } from '../wait-until.ts'
import {
  addressOf,
  addressOf6,
  BED_BYSTANDER,
  BED_BYSTANDER_6,
  BED_HOSTS,
  BED_SCANNER,
  BED_SCANNER_6,
  BED_VOID,
  type BedHost,
  indexOf,
} from './hosts.ts'
import { prepareProgram } from './programs.ts'

const HOST = join(import.meta.dirname, 'host.ts')
const SCAN = join(import.meta.dirname, 'scan.ts')

/** What `scan.ts` was asked for. */
export interface ScanOrder {
  module: string
  input?: object
  scope: string[]
  /** Settings of the module on the cell. */
  config?: object
}

export interface ScanReport {
  rows: Record<string, unknown>[]
  warnings: string[]
  elapsedMs: number
}

/** Hosts, a scanner and a bystander on one link, all in namespaces of their own. */
export class LanBed {
  readonly lab = new NetworkLab()
  /** Real programs that run, by name. */
  readonly programs: string[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-lan-'))
  readonly #stack = new DisposableStack()

  private constructor() {
    this.lab.addHost('scanner', `${BED_SCANNER}/24`, `${BED_SCANNER_6}/64`)
    this.lab.addHost('bystander', `${BED_BYSTANDER}/24`, `${BED_BYSTANDER_6}/64`)
  }

  /** The bed, or the reason why there is none here. */
  static async create(): Promise<LanBed | string> {
    if (namespacesMissing !== false) return namespacesMissing
    const bed = new LanBed()
    try {
      await Promise.all(BED_HOSTS.map((host, index) => bed.#start(host, index)))
    } catch (error) {
      await bed.close()
      throw error
    }
    bed.lab.addRoute('scanner', BED_VOID, addressOf(indexOf('router')))
    return bed
  }

  /** Runs modules, one after another, in a helper of a process on the scanner. */
  async scan(orders: readonly ScanOrder[]): Promise<ScanReport[]> {
    const text = await this.run(process.execPath, SCAN, JSON.stringify(orders))
    return JSON.parse(text.trim().split('\n').at(-1) || '[]')
  }

  /** Runs a program on the scanner and returns what it printed. */
  run(command: string, ...args: string[]): Promise<string> {
    return this.lab.run('scanner', command, args)
  }

  async close(): Promise<void> {
    await this.lab[Symbol.asyncDispose]()
    this.#stack.dispose()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  async #start(host: BedHost, index: number): Promise<void> {
    const { label, isIpv6, isHidden, services = [] } = host
    const more = isIpv6 ? [`${addressOf6(index)}/64`] : []
    this.lab.addHost(label, `${addressOf(index)}/24`, ...more)
    if (isHidden) this.lab.hideFrom(label, BED_SCANNER)
    const folder = mkdtempSync(join(this.#folder, 'host-'))
    const words = host.program === undefined ? undefined : prepareProgram(host.program, folder)
    const [command = process.execPath, ...args] = words ?? []
    const given = words === undefined ? [HOST, JSON.stringify(host)] : args
    const child = this.lab.start(label, command, given)
    if (words === undefined) await waitForLine(child, /ready/)
    else await this.#waitFor(label, services[0]?.port ?? 0)
    if (words !== undefined) this.programs.push(host.program as string)
    await this.#startAgents(host)
  }

  /** Real agents beside the services of a host, where they are installed. */
  async #startAgents({ label, snmp, mdns }: BedHost): Promise<void> {
    if (snmp !== undefined && !programMissing('snmpd')) {
      this.#stack.use(await startSnmpd(this.lab, label, snmp))
      this.programs.push('snmpd')
    }
    if (mdns !== undefined && !programMissing('avahi-daemon') && !programMissing('dbus-daemon')) {
      this.#stack.use(await Avahi.start(this.lab, label, mdns))
      this.programs.push('avahi')
    }
  }

  /** Waits until a program listens: `/proc/net/tcp` of its namespace has it then. */
  async #waitFor(name: string, port: number): Promise<void> {
    const listening = `:${port.toString(16).toUpperCase().padStart(4, '0')} 00000000:0000 0A`
    await waitUntil(`port ${port} of ${name} listens`, async () =>
      (await this.lab.run(name, 'cat', ['/proc/net/tcp'])).includes(listening),
    )
  }
}
