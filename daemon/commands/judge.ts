import { findPlanFault } from '../../shared/wire/approved-plan.ts'
import { type Command, isHarmless, MAX_TTL_SECONDS } from '../../shared/wire/command.ts'
import { hashPart, LIVE_GATE, type PlanPart } from '../../shared/wire/plan-part.ts'
import type { CoordinatorClock } from './clock.ts'
import type { Journal } from './journal.ts'
import { type Refusal, rejected } from './outcome.ts'
import { isRefusal, type Planned, planCommand } from './plan-command.ts'
import { untimely } from './untimely.ts'
import type { Verb } from './verb.ts'

export interface JudgeParts {
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: () => readonly string[]
  verbs: readonly Verb[]
  journal: Journal
  clock: Pick<CoordinatorClock, 'bounds'>
  /** Unix milliseconds. */
  now: () => number
  /** Milliseconds of a clock that never goes back. */
  nowMs: () => number
  /** When the journal was opened, by that clock. */
  openedAtMs: number
}

/** Decides whether a genuine command may be carried out, and what it would do. */
export class Judge {
  readonly #parts: JudgeParts
  readonly #verbs: ReadonlyMap<string, Verb>

  constructor(parts: JudgeParts) {
    this.#parts = parts
    this.#verbs = new Map(parts.verbs.map(verb => [verb.verb, verb]))
  }

  /** True for what must not wait for anything. Only what reduces risk may pass the others. */
  isUrgent(command: Command): boolean {
    const { urgent = false } = this.#verbs.get(command.verb) ?? {}
    return urgent && command.mode === 'live' && isHarmless(command)
  }

  /** For a command that has just come. */
  admit(command: Command, cameMs: number): Planned | Refusal {
    const planned = this.judge(command, cameMs)
    if (isRefusal(planned) || isHarmless(command) || !this.#mayHaveForgotten()) return planned
    return rejected('journal_damaged', 'commands of the last hour may have been forgotten')
  }

  /** Plans the command as of now. */
  judge(command: Command, cameMs: number): Planned | Refusal {
    const verb = this.#verbs.get(command.verb)
    if (verb === undefined)
      return rejected('unknown_verb', `this cell does not know ${command.verb}`)
    const planned = planCommand(verb, command)
    if (isRefusal(planned)) return planned
    return this.refusalNow(command, cameMs, planned.part) ?? planned
  }

  /** Why a command must not begin at this moment, or undefined when it may. */
  refusalNow(command: Command, cameMs: number, part: PlanPart): Refusal | undefined {
    const { now, nowMs, clock } = this.#parts
    const moment = { now: now(), elapsedMs: nowMs() - cameMs, bounds: clock.bounds() }
    return untimely(command, moment) ?? this.#unapproved(command, part)
  }

  #unapproved(command: Command, part: PlanPart): Refusal | undefined {
    const { id, hazard, mode, approval } = command
    if (mode === 'dry') return undefined
    const { gate: gateId = this.#verbs.get(command.verb)?.gate ?? LIVE_GATE } = part
    if (approval === undefined)
      return hazard === 'unsafe'
        ? rejected('approval_missing', `${command.verb} is unsafe and needs ${gateId}`)
        : undefined
    const { cellId, trusted, journal, now, clock } = this.#parts
    const fault = findPlanFault(approval, {
      cellId,
      trusted: trusted(),
      gateId,
      partHash: hashPart(part),
      now: Math.max(now(), clock.bounds()?.latest ?? 0),
      isUsed: (requestId, hash) => journal.isUsed(requestId, hash, id),
    })
    return fault && rejected(fault.reason, fault.message)
  }

  #mayHaveForgotten(): boolean {
    const { journal, nowMs, openedAtMs } = this.#parts
    return journal.damaged && nowMs() - openedAtMs < MAX_TTL_SECONDS * 1000
  }
}
