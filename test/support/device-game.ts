import { loadShippedGates } from '../../coordinator/access/gates/definition.ts'
import { CommandExecutor } from '../../daemon/commands/executor.ts'
import { CommandJournal, type JournalFile } from '../../daemon/commands/journal.ts'
import { DeviceHost } from '../../daemon/devices/device-host.ts'
import { SimLinkConfig } from '../../devices/links/sim/config.ts'
import { SimLink } from '../../devices/links/sim/link.ts'
import { newId } from '../../shared/ids.ts'
import { createSigner, generatePrivateKey, type Signer } from '../../shared/signing.ts'
import type { Approval } from '../../shared/wire/approval.ts'
import { type Command, signCommand } from '../../shared/wire/command.ts'
import { CRITICAL_GATE, LIVE_GATE, type PlanPart, planOf } from '../../shared/wire/plan-part.ts'
import { silent } from './cell.ts'
import type { GateGame } from './gate-histories.ts'
import { approvalEnd, type Belief } from './gate-oracle.ts'
import type { Random } from './random.ts'

/** Life of a command, longer than that of its approval. */
const LIFE_MS = 20 * 60_000
const CELL = newId('cell')
const DEVICES = [
  { name: 'rover', profile: 'sim-rover', battery_metres: 1e6 },
  { name: 'drone', profile: 'sim-drone', x_m: 50, battery_metres: 1e6 },
  { name: 'printer', profile: 'sim-printer' },
]
interface Use {
  device: string
  verb: string
  params: Command['params']
}

const USES: readonly Use[] = [
  { device: 'rover', verb: 'move-to', params: { x_m: 1, y_m: 0, speed_m_s: 1 } },
  { device: 'rover', verb: 'move-to', params: { x_m: 2, y_m: 0, speed_m_s: 1 } },
  { device: 'drone', verb: 'arm', params: {} },
  { device: 'printer', verb: 'raw-gcode', params: { lines: ['G28'] } },
]

interface Clock {
  readonly now: number
}

/** A command as the coordinator has sent it; it may arrive often, late or never. */
interface SentCommand {
  command: Command
  /** Request whose approval it carries. */
  requestId: string
  /** True when it is what was approved, at the gate that the cell requires. */
  isApproved: boolean
  /** End of command and approval, in unix milliseconds. */
  endsAt: number
}

/**
 * People who ask for commands of simulated devices on a cell in this process. What the cell executes
 * is compared with what it may execute, after each delivery.
 */
export class DeviceGame implements GateGame {
  readonly gates = Object.fromEntries(
    [LIVE_GATE, CRITICAL_GATE].map(id => [id, loadShippedGates()[id]?.approvals ?? []]),
  )
  readonly roles = ['architect', 'operator_admin', 'operator_admin'] as const
  readonly plans: readonly ReturnType<typeof planOf>[]
  readonly tally = { executed: 0, refused: 0 }
  readonly #signer: Signer
  readonly #clock: Clock
  readonly #sim: SimLink
  readonly #parts: readonly PlanPart[]
  readonly #executor: CommandExecutor
  #sent: SentCommand[] = []
  #fence = 0
  readonly #arrived = new Set<string>()
  readonly #used = new Set<string>()
  readonly #fences = new Map<string | undefined, number>()

  constructor(signer: Signer, clock: Clock, journal: CommandJournal) {
    this.#signer = signer
    this.#clock = clock
    const config = SimLinkConfig.parse({ kind: 'sim', devices: DEVICES })
    this.#sim = new SimLink(config, { cellId: CELL, now: () => clock.now, nowMs: () => 0 })
    const host = new DeviceHost({
      config: {},
      links: [this.#sim],
      now: () => clock.now,
      nowMs: () => clock.now,
      logger: silent,
    })
    this.#parts = USES.map(use => planUse(host, use))
    this.plans = this.#parts.map(planOf)
    this.#executor = createExecutor(signer, clock, journal, host)
  }

  /** Sends what was approved, the same once more, and something else with the same approval. */
  onUsed(approval: Approval, belief: Belief): void {
    for (const use of [belief.plan, belief.plan, (belief.plan + 1) % USES.length])
      this.#sent.push(this.#createCommand(use, approval, belief))
  }

  async afterStep(random: Random, isLast: boolean): Promise<void> {
    if (this.#sent.length > 0 && random.randomBelow(2) === 0)
      await this.#deliver(random.pick(this.#sent))
    if (isLast) this.#sent = []
  }

  #createCommand(use: number, approval: Approval, belief: Belief): SentCommand {
    const { now } = this.#clock
    const expires_at = now + LIFE_MS
    const { cell_id, device_id = '', verb, gate } = this.#parts[use] as PlanPart
    const plan = this.plans[belief.plan] as ReturnType<typeof planOf>
    const command = signCommand(
      {
        id: newId('cmd'),
        cell_id,
        device_id,
        verb,
        params: USES[use]?.params ?? {},
        hazard: 'unsafe',
        mode: 'live',
        issued_at: now,
        not_before: now,
        expires_at,
        fence: ++this.#fence,
        approval: { plan, approval },
      },
      this.#signer,
    )
    const isApproved = use === belief.plan && belief.gate === gate
    const endsAt = Math.min(expires_at, approvalEnd(belief))
    return { command, requestId: approval.request_id, isApproved, endsAt }
  }

  /** Delivers a command; throws when the devices do more or less than they may. */
  async #deliver(sent: SentCommand): Promise<void> {
    const expected = this.#allow(sent) ? 1 : 0
    const before = this.#countExecuted()
    this.#sim.advance(0)
    let isOver = false
    void this.#executor.receive(sent.command).then(async () => {
      await this.#executor.waitUntilIdle()
      isOver = true
    })
    while (!isOver) {
      await new Promise(setImmediate)
      this.#sim.advance(500)
    }
    const executed = this.#countExecuted() - before
    if (executed !== expected)
      throw new Error(`${sent.command.verb} was executed ${executed} times, not ${expected}`)
    this.tally[executed === 1 ? 'executed' : 'refused']++
  }

  /** Decides, in another way than the cell does, whether a command that arrives now may run. */
  #allow({ command, requestId, isApproved, endsAt }: SentCommand): boolean {
    const { id, device_id, fence } = command
    if (this.#arrived.has(id) || fence <= (this.#fences.get(device_id) ?? 0)) return false
    this.#arrived.add(id)
    this.#fences.set(device_id, fence)
    if (!isApproved || this.#clock.now >= endsAt || this.#used.has(requestId)) return false
    this.#used.add(requestId)
    return true
  }

  #countExecuted(): number {
    return this.#sim.world.units.reduce((sum, unit) => sum + unit.executed, 0)
  }
}

/** Opens a game whose cell has its journal in memory. */
export const openDeviceGame = async (signer: Signer, clock: Clock): Promise<DeviceGame> =>
  new DeviceGame(signer, clock, await CommandJournal.open(createMemoryFile(), () => clock.now))

const createMemoryFile = (): JournalFile => {
  let content = ''
  return {
    read: async () => content,
    append: async text => {
      content += text
    },
    replace: async text => {
      content = text
    },
    close: async () => {},
  }
}

const createExecutor = (
  signer: Signer,
  clock: Clock,
  journal: CommandJournal,
  devices: DeviceHost,
): CommandExecutor =>
  new CommandExecutor({
    cellId: CELL,
    signer: createSigner(generatePrivateKey()),
    listTrustedKeys: () => [signer.publicKey],
    verbs: [],
    devices,
    journal,
    clock: { bounds: () => ({ earliest: clock.now, latest: clock.now }) },
    now: () => clock.now,
    nowMs: () => 0,
    acknowledge: () => {},
    report: () => {},
    signal: new AbortController().signal,
    logger: silent,
  })

/** The part that a dry run on the cell returns. */
const planUse = (host: DeviceHost, { device: name, verb: verbName, params }: Use): PlanPart => {
  const device_id =
    host.listDevices().find(({ device }) => device.name === name)?.device.deviceId ?? ''
  const verb = host.findVerb(device_id, verbName)
  if (verb === undefined) throw new Error(`${name} has no verb ${verbName}`)
  const { operations, bounds, gate = verb.gate ?? LIVE_GATE } = verb.plan(verb.params.parse(params))
  return {
    cell_id: CELL,
    device_id,
    verb: verbName,
    hazard: 'unsafe',
    gate,
    operations,
    bounds,
  }
}
