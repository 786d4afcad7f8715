import fc from 'fast-check'
import { pino } from 'pino'
import * as z from 'zod'
import { CoordinatorClock } from '../../../daemon/commands/clock.ts'
import { CommandExecutor } from '../../../daemon/commands/executor.ts'
import { CommandJournal, type JournalFile } from '../../../daemon/commands/journal.ts'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import {
  type Ack,
  type Command,
  FINAL_STATES,
  type Hazard,
  signCommand,
} from '../../../shared/wire/command.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { devicesWith } from '../../support/devices-with.ts'

const coordinator = createSigner(generatePrivateKey())
const stranger = createSigner(generatePrivateKey())
const cell = createSigner(generatePrivateKey())
const CELL = newId('cell')
const logger = pino({ level: 'silent' })

/** What the disk does with one of the next writes. */
type DiskMood = 'sound' | 'slow' | 'fails' | 'dies before' | 'dies half way' | 'dies after'

/** None is the cell itself. */
type Device = 'none' | 'arm' | 'rover'
type VerbMood = 'quick' | 'slow' | 'dies' | 'throws' | 'hangs'

export type HistoryStep =
  | { do: 'issue'; hazard: Hazard; device: Device; lifeMs: number; deliver: boolean }
  | { do: 'stop'; device: Device }
  | { do: 'deliver'; which: number }
  | { do: 'forge'; which: number; how: 'field' | 'key' | 'cell' | 'none' }
  | { do: 'crash' }
  | { do: 'pass'; ms: number }
  | { do: 'step clock'; ms: number }
  | { do: 'ask'; outMs: number; backMs: number }
  | { do: 'disk'; mood: DiskMood; after: number }
  | { do: 'verb'; mood: VerbMood }

const moment = fc.integer({ min: 0, max: 8000 })

const device = fc.constantFrom<Device>('none', 'arm', 'arm', 'rover')

export const history: fc.Arbitrary<HistoryStep[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('issue' as const),
        hazard: fc.constantFrom<Hazard>('read', 'safe', 'caution', 'unsafe', 'unsafe'),
        device,
        lifeMs: fc.integer({ min: 1, max: 20_000 }),
        deliver: fc.boolean(),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constant('deliver' as const), which: fc.nat(7) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('forge' as const),
        which: fc.nat(7),
        how: fc.constantFrom('field' as const, 'key' as const, 'cell' as const, 'none' as const),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('stop' as const), device }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: moment }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('step clock' as const),
        ms: fc.oneof(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -9000, max: 9000 })),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        outMs: fc.oneof(fc.nat(50), fc.nat(900), moment),
        backMs: fc.oneof(fc.nat(50), fc.nat(900), moment),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('disk' as const),
        mood: fc.constantFrom<DiskMood>(
          'slow',
          'fails',
          'dies before',
          'dies half way',
          'dies after',
        ),
        after: fc.nat(2),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('verb' as const),
        mood: fc.constantFrom<VerbMood>('quick', 'slow', 'dies', 'throws', 'hangs', 'hangs'),
      }),
    },
  ),
  { minLength: 4, maxLength: 40, size: 'max' },
)

/** What a history must never show. */
export interface Findings {
  violations: string[]
  runs: number
  unsafeRuns: number
  commands: number
  crashes: number
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
  readonly acks: Ack[] = []
  readonly findings: Findings = {
    violations: [],
    runs: 0,
    unsafeRuns: 0,
    commands: 0,
    crashes: 0,
  }
  #life = 0
  /** Only lets go of timers: a life that is over has no effect any more. */
  #over = new AbortController()
  #executor: CommandExecutor | undefined
  #clock = new CoordinatorClock(() => this.now)
  #asked = 0

  async start(): Promise<void> {
    const life = ++this.#life
    this.end()
    this.#over = new AbortController()
    const clock = new CoordinatorClock(() => this.now)
    this.#clock = clock
    this.#executor = undefined
    const journal = await CommandJournal.open(this.#file(life), () => this.now + this.skewMs)
    const verbs = [
      ...(['read', 'safe', 'caution', 'unsafe'] as const).map(hazard =>
        this.#verb('do', hazard, life),
      ),
      { ...this.#verb('stop', 'safe', life), urgent: true },
    ]
    const executor = new CommandExecutor({
      cellId: CELL,
      signer: cell,
      listTrustedKeys: () => [coordinator.publicKey],
      verbs,
      devices: devicesWith(() => verbs),
      journal,
      clock,
      now: () => this.now + this.skewMs,
      nowMs: () => this.now,
      acknowledge: ack => {
        if (life === this.#life) this.acks.push(ack)
      },
      report: () => {},
      signal: this.#over.signal,
      logger,
    })
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
      this.#issue('stop', { ...step, hazard: 'safe', lifeMs: 20_000, deliver: true })
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
    await turn()
  }

  #issue(
    act: 'do' | 'stop',
    { hazard, device, lifeMs, deliver }: Omit<Extract<HistoryStep, { do: 'issue' }>, 'do'>,
  ): void {
    const fence = this.issued.length + 1
    const verb = nameOf(act, hazard)
    const target = { cell_id: CELL, ...(device === 'none' ? {} : { device_id: device }), verb }
    const expires_at = this.now + lifeMs
    const part = { ...target, hazard, operations: [fence] }
    const approval = approvalFor(part, { signer: coordinator, expiresAt: expires_at })
    const command = signCommand(
      {
        id: newId('cmd'),
        ...target,
        params: { fence },
        hazard,
        mode: 'live',
        issued_at: this.now,
        not_before: this.now,
        expires_at,
        fence,
        ...(hazard === 'unsafe' ? { approval } : {}),
      },
      coordinator,
    )
    this.issued.push(command)
    this.findings.commands++
    if (deliver) this.#deliver(command)
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

  #verb(act: 'do' | 'stop', hazard: Hazard, life: number): Verb {
    return {
      verb: nameOf(act, hazard),
      description: '',
      hazard,
      timeout_seconds: 60,
      params: z.strictObject({ fence: z.int() }),
      plan: ({ fence }) => ({ operations: [fence as number], bounds: {} }),
      run: ({ operations: [fence] }) =>
        act === 'stop' ? this.#stop(fence as number, life) : this.#run(fence as number, life),
    }
  }

  async #stop(fence: number, life: number): Promise<null> {
    if (life !== this.#life) return forever()
    const device = this.issued[fence - 1]?.device_id
    this.#stopped.set(device, Math.max(fence, this.#stopped.get(device) ?? 0))
    return null
  }

  async #run(fence: number, life: number): Promise<null> {
    if (life !== this.#life) return forever()
    const command = this.issued[fence - 1]
    this.findings.runs++
    if (command !== undefined) this.#judge(command)
    const mood = this.verbMood
    this.verbMood = 'quick'
    if (mood === 'dies') {
      await this.crash()
      return forever()
    }
    // the cell's own lane ends with its verb; only a stop ends a device that hangs
    if (mood === 'hangs' && command?.device_id !== undefined) return forever()
    if (mood === 'throws') throw new Error('it failed')
    if (mood === 'slow') this.now += 3000
    return null
  }

  #judge({ id, fence, hazard, device_id, expires_at }: Command): void {
    const { violations } = this.findings
    const times = (this.runs.get(id) ?? 0) + 1
    this.runs.set(id, times)
    if (hazard === 'unsafe') this.findings.unsafeRuns++
    if (this.acks.findLast(ack => ack.command_id === id)?.state !== 'executing')
      violations.push(`${hazard}: ran before it was said to be executing`)
    if (hazard === 'read' || hazard === 'safe') return
    if (times > 1) violations.push(`${hazard}: ran ${times} times`)
    if (fence < (this.#stopped.get(device_id) ?? 0)) violations.push(`${hazard}: ran after a stop`)
    if (this.now >= expires_at && hazard === 'unsafe')
      violations.push(`unsafe: ran ${this.now - expires_at} ms late`)
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

const nameOf = (act: 'do' | 'stop', hazard: Hazard): string => `${act}-${hazard}`

const forever = (): Promise<never> => new Promise(() => {})

/** Long enough for everything that does not wait to happen. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** Lets a history happen and tells what went wrong in it. */
export const play = async (steps: readonly HistoryStep[]): Promise<Findings> => {
  const world = new World()
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

/** What acts never begins again after a final word. */
const contradictions = (acks: readonly Ack[], id: string): string[] => {
  const states = acks.filter(ack => ack.command_id === id).map(ack => ack.state)
  const first = states.findIndex(state => FINAL_STATES.includes(state))
  if (first === -1) return []
  const again = states.slice(first).some(state => state === 'executing')
  return again ? [`${id}: executing after ${states[first]}`] : []
}
