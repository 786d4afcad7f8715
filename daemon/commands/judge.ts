import { findPlanFault } from '../../shared/wire/approved-plan.ts'
import { type Command, isHarmless, MAX_TTL_SECONDS } from '../../shared/wire/command.ts'
import type { EngagedStop } from '../../shared/wire/estop.ts'
import { hashPart, LIVE_GATE, type PlanPart } from '../../shared/wire/plan-part.ts'
import { checkTiming } from './check-timing.ts'
import type { CoordinatorClock } from './clock.ts'
import type { CommandJournal } from './journal.ts'
import { type CommandRefusal, toRejection } from './outcome.ts'
import { isRefusal, type PlannedCommand, planCommand } from './plan-command.ts'
import type { DeviceVerbs, Verb } from './verb.ts'

export interface JudgeParts {
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  listTrustedKeys: () => readonly string[]
  /** Verbs of the cell itself. */
  verbs: readonly Verb[]
  devices?: DeviceVerbs | undefined
  journal: CommandJournal
  /** Returns the e-stop that holds a device; without it no device is ever stopped. */
  findStop?: ((deviceId: string) => EngagedStop | undefined) | undefined
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic clock, in milliseconds. */
  nowMs: () => number
  /** Time at which the journal was opened, by the monotonic clock. */
  openedAtMs: number
}

/** Decides whether a genuine command may be executed, and plans it. */
export class CommandJudge {
  readonly #parts: JudgeParts
  readonly #verbs: ReadonlyMap<string, Verb>

  constructor(parts: JudgeParts) {
    this.#parts = parts
    this.#verbs = new Map(parts.verbs.map(verb => [verb.verb, verb]))
  }

  /** True for commands that skip every queue; only those that reduce risk may. */
  isUrgent(command: Command): boolean {
    const { urgent = false } = this.#findVerb(command) ?? {}
    return urgent && command.mode === 'live' && isHarmless(command)
  }

  /** Admits or refuses a command on arrival. */
  admit(command: Command, cameMs: number): PlannedCommand | CommandRefusal {
    const planned = this.judge(command, cameMs)
    if (isRefusal(planned) || isHarmless(command) || !this.#mayHaveForgotten()) return planned
    return toRejection('journal_damaged', 'commands of the last hour may have been forgotten')
  }

  /** Plans the command at the current moment. */
  judge(command: Command, cameMs: number): PlannedCommand | CommandRefusal {
    const verb = this.#findVerb(command)
    if (verb === undefined) return this.#refuseVerb(command)
    const planned = planCommand(verb, command)
    if (isRefusal(planned)) return planned
    return this.findRefusal(command, cameMs, planned) ?? planned
  }

  /** Reason why a command must not begin now; undefined when it may. */
  findRefusal(
    command: Command,
    cameMs: number,
    planned: PlannedCommand,
  ): CommandRefusal | undefined {
    const { now, nowMs, clock } = this.#parts
    const moment = { now: now(), elapsedMs: nowMs() - cameMs, bounds: clock.bounds() }
    return (
      checkTiming(command, moment) ??
      this.#findStop(command, planned.part) ??
      this.#findApprovalFault(command, planned)
    )
  }

  /** Refuses what would act on a device that an e-stop holds; reading and stopping it go on. */
  #findStop(command: Command, { hazard }: PlanPart): CommandRefusal | undefined {
    const { device_id, mode } = command
    if (device_id === undefined || mode === 'dry' || hazard === 'read') return undefined
    const stop = this.isUrgent(command) ? undefined : this.#parts.findStop?.(device_id)
    return (
      stop &&
      toRejection(
        'estopped',
        `e-stop ${stop.estop_id} holds ${this.#describeDevice(device_id)}: ${stop.reason}`,
      )
    )
  }

  /** Name and id of a device, for people; a device that was withdrawn has only its id. */
  #describeDevice(deviceId: string): string {
    const name = this.#parts.devices?.findName(deviceId)
    return name === undefined ? deviceId : `${name} (${deviceId})`
  }

  #findVerb({ device_id, verb }: Command): Verb | undefined {
    return device_id === undefined
      ? this.#verbs.get(verb)
      : this.#parts.devices?.findVerb(device_id, verb)
  }

  #refuseVerb({ device_id, verb }: Command): CommandRefusal {
    if (device_id === undefined)
      return toRejection(
        'unknown_verb',
        `this cell does not support ${verb}; a verb of a device needs its device_id`,
      )
    if (this.#parts.devices?.findName(device_id) !== undefined)
      return toRejection(
        'unknown_verb',
        `${this.#describeDevice(device_id)} does not support ${verb}`,
      )
    return this.#verbs.has(verb)
      ? toRejection('no_device', `${verb} takes no device_id: it is a verb of the cell itself`)
      : toRejection('unknown_device', `this cell has no device ${device_id}`)
  }

  #findApprovalFault(command: Command, { verb, part }: PlannedCommand): CommandRefusal | undefined {
    const { id, hazard, mode, approval } = command
    if (mode === 'dry') return undefined
    const gateId = part.gate ?? verb.gate ?? LIVE_GATE
    if (approval === undefined)
      return hazard === 'unsafe'
        ? toRejection('approval_missing', `${command.verb} is unsafe and needs ${gateId}`)
        : undefined
    const { cellId, listTrustedKeys, journal, now, clock } = this.#parts
    const fault = findPlanFault(approval, {
      cellId,
      trusted: listTrustedKeys(),
      gateId,
      partHash: hashPart(part),
      now: Math.max(now(), clock.bounds()?.latest ?? 0),
      isUsed: (requestId, hash) => journal.isUsed(requestId, hash, id),
    })
    return fault && toRejection(fault.reason, fault.message)
  }

  #mayHaveForgotten(): boolean {
    const { journal, nowMs, openedAtMs } = this.#parts
    return journal.isDamaged && nowMs() - openedAtMs < MAX_TTL_SECONDS * 1000
  }
}
