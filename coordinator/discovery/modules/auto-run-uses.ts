import type { AutoRunUse } from '../../../shared/wire/auto-run-use.ts'

/** Use of the hourly budgets of all cells together. */
interface AutoRunSummary {
  cells: number
  /** Cells that have used up a budget. */
  cellsAtLimit: number
  findings: number
  activeSeconds: number
}

/** Use of the hourly budgets of cells, from their last messages to this coordinator. */
export class AutoRunUses {
  readonly #uses = new Map<string, AutoRunUse>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  note(cellId: string, use: AutoRunUse): void {
    this.#uses.set(cellId, use)
  }

  forget(cellId: string): void {
    this.#uses.delete(cellId)
  }

  summarise(): AutoRunSummary {
    const now = this.#now()
    const uses = [...this.#uses.values()].filter(({ ends_at }) => ends_at > now)
    return {
      cells: uses.length,
      cellsAtLimit: uses.filter(isAtLimit).length,
      findings: uses.reduce((sum, { findings }) => sum + findings, 0),
      activeSeconds: uses.reduce((sum, { active_seconds }) => sum + active_seconds, 0),
    }
  }
}

const isAtLimit = (use: AutoRunUse): boolean =>
  use.findings >= use.max_findings || use.active_seconds >= use.max_active_seconds
