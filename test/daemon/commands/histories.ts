import { pino } from 'pino'
import { CoordinatorClock } from '../../../daemon/commands/clock.ts'
import { CommandExecutor } from '../../../daemon/commands/executor.ts'
import { CommandJournal, type JournalFile } from '../../../daemon/commands/journal.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import { type Ack, type Command, FINAL_STATES, signCommand } from '../../../shared/wire/command.ts'
import { isConfirmed } from '../../../shared/wire/device-outcome.ts'
import { LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { EstopHistory } from './estop-history.ts'
import type { DiskMood, HistoryApproval, HistoryStep, VerbMood } from './history-steps.ts'
import { createPlainStage } from './plain-stage.ts'
import type { CreateStage, Stage, StagedCommand, StageLife } from './stage.ts'

const coordinator = createSigner(generatePrivateKey())
const stranger = createSigner(generatePrivateKey())
const cell = createSigner(generatePrivateKey())
const logger = pino({ level: 'silent' })

/** What a history must never show. */
export interface Findings {
  violations: string[]
  runs: number
  unsafeRuns: number
  commands: number
  crashes: number
  /** Commands whose device was not seen at rest. */
  unconfirmed: number
  /** E-stops that came into force, releases of them, refusals, and motions after a release. */
  estops: number
  releases: number
  held: number
  freed: number
}

/** One cell with its disk and clocks, a coordinator, and the network between them. */
class World {
  /** The coordinator's clock, unix milliseconds; time in this world. */
  now = 1_800_000_000_000
  /** The cell's own clock minus the coordinator's. */
  skewMs = 0
  disk = ''
  diskMood: DiskMood = 'sound'
  /** Writes that succeed before that. */
  soundWrites = 0
  verbMood: VerbMood = 'quick'
  /** The highest fence of a stop that ran, by device. */
  readonly #stopped = new Map<string | undefined, number>()
  readonly issued: Command[] = []
  readonly runs = new Map<string, number>()
  /** Stops that ran while their device moved. */
  readonly #stopsOfMoving = new Set<string>()
  /** Runs by the request of their approval. */
  readonly #uses = new Map<string, number>()
  /** Commands that must never run, by the reason. */
  readonly #unapproved = new Map<string, HistoryApproval>()
  readonly #stage: Stage
  readonly acks: Ack[] = []
  readonly findings: Findings = {
    violations: [],
    runs: 0,
    unsafeRuns: 0,
    commands: 0,
    crashes: 0,
    unconfirmed: 0,
    estops: 0,
    releases: 0,
    held: 0,
    freed: 0,
  }
  readonly #estops: EstopHistory
  #life = 0
  /** Signal that only lets go of timers: a life that is over has no effect any more. */
  #over = new AbortController()
  #executor: CommandExecutor | undefined
  #clock = new CoordinatorClock(() => this.now)
  #asked = 0

  constructor(createStage: CreateStage) {
    const now = () => this.now + this.skewMs
    this.#stage = createStage({ now })
    this.#estops = new EstopHistory({
      cellId: this.#stage.cellId,
      ...{ coordinator, stranger, cell, now },
      crash: () => this.crash(),
      violations: this.findings.violations,
    })
  }

  async start(): Promise<void> {
    const life = ++this.#life
    this.end()
    this.#over = new AbortController()
    const clock = new CoordinatorClock(() => this.now)
    this.#clock = clock
    this.#executor = undefined
    const { stoppable, ...staged } = this.#stage.open(this.#createLife(life))
    const { signal } = this.#over
    const isCurrent = () => life === this.#life
    const estop = await this.#estops.start({ devices: stoppable, isCurrent, signal })
    const journal = await CommandJournal.open(this.#file(life), () => this.now + this.skewMs)
    const executor = new CommandExecutor({
      cellId: this.#stage.cellId,
      signer: cell,
      listTrustedKeys: () => [coordinator.publicKey],
      ...staged,
      journal,
      findStop: deviceId => estop.findStop(deviceId),
      clock,
      now: () => this.now + this.skewMs,
      nowMs: () => this.now,
      acknowledge: ack => {
        if (life !== this.#life) return
        this.acks.push(ack)
        this.#judgeAck(ack)
        if (ack.reason === 'estopped') this.findings.held++
      },
      report: () => {},
      signal,
      logger,
    })
    estop.onEngage(() => executor.endStopped())
    await executor.recover()
    this.#executor = executor
  }

  end(): void {
    this.#over.abort()
  }

  async crash(): Promise<void> {
    this.findings.crashes++
    this.diskMood = 'sound'
    this.verbMood = 'quick'
    await this.start()
  }

  async take(step: HistoryStep): Promise<void> {
    if (step.do === 'issue') this.#issue('do', step)
    if (step.do === 'stop')
      this.#issue('stop', {
        ...step,
        hazard: 'safe',
        approval: 'none',
        lifeMs: 20_000,
        deliver: true,
      })
    if (step.do === 'reuse') this.#reuse(this.issued.at(step.which % this.issued.length))
    if (step.do === 'deliver') this.#deliver(this.issued.at(step.which % this.issued.length))
    if (step.do === 'forge') this.#forge(step)
    if (step.do === 'crash') await this.crash()
    if (step.do === 'pass') this.now += step.ms
    if (step.do === 'step clock') this.skewMs += step.ms
    if (step.do === 'ask') this.#ask(step)
    if (step.do === 'disk') {
      this.diskMood = step.mood
      this.soundWrites = step.after
    }
    if (step.do === 'verb') this.verbMood = step.mood
    if (step.do === 'estop') this.#estops.take(step.step)
    this.#stage.passTime()
    await turn()
    this.#estops.judge()
    Object.assign(this.findings, this.#estops.counts)
  }

  #issue(act: 'do' | 'stop', step: Omit<Extract<HistoryStep, { do: 'issue' }>, 'do'>): void {
    const { device, hazard, lifeMs, deliver, approval } = step
    const fence = this.issued.length + 1
    const staged = this.#stage.create(act, hazard, device, fence)
    const expires_at = this.now + lifeMs
    const command = signCommand(
      {
        id: newId('cmd'),
        cell_id: this.#stage.cellId,
        ...staged.target,
        mode: 'live',
        issued_at: this.now,
        not_before: this.now,
        expires_at,
        fence,
        ...approve(staged, approval, expires_at),
      },
      coordinator,
    )
    if (command.hazard === 'unsafe' && approval !== 'right')
      this.#unapproved.set(command.id, approval)
    this.#add(command)
    if (deliver) this.#deliver(command)
  }

  /** A second command with the approval of another one. */
  #reuse(model: Command | undefined): void {
    if (model === undefined) return
    const { signature, key_id, ...body } = model
    const fence = this.issued.length + 1
    const command = signCommand({ ...body, id: newId('cmd'), fence }, coordinator)
    const approval = this.#unapproved.get(model.id)
    if (approval !== undefined) this.#unapproved.set(command.id, approval)
    this.#add(command)
    this.#deliver(command)
  }

  #add(command: Command): void {
    this.issued.push(command)
    this.findings.commands++
  }

  #deliver(command: unknown): void {
    if (command !== undefined) void this.#executor?.receive(JSON.parse(JSON.stringify(command)))
  }

  #forge({ which, how }: Extract<HistoryStep, { do: 'forge' }>): void {
    const model = this.issued.at(which % this.issued.length)
    if (model === undefined) return
    const { signature, key_id, ...body } = model
    const changed = { ...body, id: newId('cmd'), fence: body.fence + 1000 }
    if (how === 'field') this.#deliver({ ...changed, key_id, signature })
    if (how === 'key') this.#deliver(signCommand(changed, stranger))
    if (how === 'cell')
      this.#deliver(signCommand({ ...changed, cell_id: newId('cell') }, coordinator))
    if (how === 'none') this.#deliver(changed)
  }

  #ask({ outMs, backMs }: Extract<HistoryStep, { do: 'ask' }>): void {
    const id = String(this.#asked++)
    this.#clock.markRequest(id, 'rep_a')
    this.now += outMs
    const at = this.now
    this.now += backMs
    this.#clock.markAnswer(id, at)
  }

  #createLife(life: number): StageLife {
    return {
      onRun: command => this.#run(command, life),
      onStop: command => this.#stop(command, life),
      findRunning: isSame => this.#findRunning(isSame),
    }
  }

  /** Command that runs now, by its acks; what was not acknowledged is found all the same. */
  #findRunning(isSame: (command: Command) => boolean): Command | undefined {
    const found = this.issued.filter(isSame)
    return found.findLast(({ id }) => this.#stateOf(id) === 'executing') ?? found.at(-1)
  }

  #stateOf(id: string): string | undefined {
    return this.acks.findLast(ack => ack.command_id === id)?.state
  }

  async #stop({ id, fence, device_id }: Command, life: number): Promise<null> {
    if (life !== this.#life) return forever()
    if (this.#isMoving(device_id)) this.#stopsOfMoving.add(id)
    this.#stopped.set(device_id, Math.max(fence, this.#stopped.get(device_id) ?? 0))
    return null
  }

  async #run(command: Command, life: number): Promise<null> {
    if (life !== this.#life) return forever()
    this.findings.runs++
    this.#judge(command)
    const mood = this.verbMood
    this.verbMood = 'quick'
    if (mood === 'dies') {
      await this.crash()
      return forever()
    }
    // the cell's own lane ends with its verb; only a stop ends a device that hangs
    if (mood === 'hangs' && command.device_id !== undefined) return forever()
    if (mood === 'throws') throw new Error('it failed')
    if (mood === 'slow') this.now += 3000
    return null
  }

  #isMoving(deviceId: string | undefined): boolean {
    return deviceId !== undefined && this.#stage.isMoving?.(deviceId) === true
  }

  /**
   * Judges an ack: only a device that was seen at rest was stopped, and one that was seen at rest
   * is confirmed.
   */
  #judgeAck({ command_id, state, reason, seen }: Ack): void {
    const { violations } = this.findings
    const isUnconfirmed = reason === 'unconfirmed'
    if (isUnconfirmed) this.findings.unconfirmed++
    if (isUnconfirmed && (state !== 'unknown' || (seen !== undefined && isConfirmed(seen))))
      violations.push(`unconfirmed: ${state}, and seen ${seen?.state}`)
    const { device_id } = this.issued.find(({ id }) => id === command_id) ?? {}
    const isStop = this.#stopsOfMoving.has(command_id) && this.#isMoving(device_id)
    if (isStop && state === 'succeeded') violations.push('stop: succeeded while the device moves')
  }

  #judge({ id, fence, hazard, device_id, expires_at, approval }: Command): void {
    const { violations } = this.findings
    const times = (this.runs.get(id) ?? 0) + 1
    this.runs.set(id, times)
    if (hazard === 'unsafe') this.findings.unsafeRuns++
    if (this.#stateOf(id) !== 'executing')
      violations.push(`${hazard}: ran before it was said to be executing`)
    if (hazard !== 'read' && device_id !== undefined) this.#estops.judgeMotion(device_id)
    if (hazard === 'read' || hazard === 'safe') return
    if (times > 1) violations.push(`${hazard}: ran ${times} times`)
    if (fence < (this.#stopped.get(device_id) ?? 0)) violations.push(`${hazard}: ran after a stop`)
    if (this.now >= expires_at && hazard === 'unsafe')
      violations.push(`unsafe: ran ${this.now - expires_at} ms late`)
    const unapproved = this.#unapproved.get(id)
    if (unapproved !== undefined) violations.push(`unsafe: ran with an approval ${unapproved}`)
    if (approval !== undefined) this.#judgeUse(approval.approval.request_id)
  }

  #judgeUse(requestId: string): void {
    const uses = (this.#uses.get(requestId) ?? 0) + 1
    this.#uses.set(requestId, uses)
    if (uses > 1) this.findings.violations.push(`unsafe: an approval was used ${uses} times`)
  }

  #file(life: number): JournalFile {
    const write = async (next: string, change: string): Promise<void> => {
      if (life !== this.#life) return forever()
      const mood = this.soundWrites-- > 0 ? 'sound' : this.diskMood
      if (mood === this.diskMood) this.diskMood = 'sound'
      if (mood === 'slow') this.now += 5000
      if (mood === 'fails') throw new Error('no space left')
      if (mood === 'dies half way')
        this.disk = next.slice(0, next.length - Math.ceil(change.length / 2))
      if (mood === 'dies after' || mood === 'sound' || mood === 'slow') this.disk = next
      if (!mood.startsWith('dies')) return
      await this.crash()
      return forever()
    }
    return {
      read: async () => this.disk,
      append: text => write(this.disk + text, text),
      replace: text => write(text, ''),
      close: async () => {},
    }
  }
}

/** Approval of an unsafe command, which may be a wrong one. */
const approve = ({ target, part }: StagedCommand, kind: HistoryApproval, expiresAt: number) => {
  if (target.hazard !== 'unsafe' || kind === 'none') return {}
  const { gate = LIVE_GATE } = part
  const gate_id = kind === 'of another gate' ? 'gate.policy-change' : gate
  const approved = kind === 'of another plan' ? { ...part, operations: ['other'] } : part
  return { approval: approvalFor(approved, { signer: coordinator, expiresAt, gate_id }) }
}

const forever = (): Promise<never> => new Promise(() => {})

/** Long enough for everything that does not wait to happen. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Lets a history happen and tells what went wrong in it. */
export const play = async (
  steps: readonly HistoryStep[],
  createStage: CreateStage = createPlainStage,
): Promise<Findings> => {
  const world = new World(createStage)
  await world.start()
  await world.take({ do: 'ask', outMs: 1, backMs: 1 })
  for (const step of steps) await world.take(step)
  await world.crash()
  await turn()
  world.end()
  const { findings } = world
  for (const { id, hazard } of world.issued)
    if (hazard === 'unsafe' || hazard === 'caution')
      findings.violations.push(...contradictions(world.acks, id))
  return findings
}

/**
 * A verb never begins again after a final ack, which no other one follows but `unknown`: that of
 * a daemon whose disk has lost the first.
 */
const contradictions = (acks: readonly Ack[], id: string): string[] => {
  const states = acks.filter(ack => ack.command_id === id).map(ack => ack.state)
  const first = states.findIndex(state => FINAL_STATES.includes(state))
  if (first === -1) return []
  const other = states.slice(first).find(state => state !== states[first] && state !== 'unknown')
  return other === undefined ? [] : [`${id}: ${other} after ${states[first]}`]
}
