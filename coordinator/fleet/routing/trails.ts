import type { CellEngine } from './engine.ts'
import type { AnswerTiming } from './health/engine-health.ts'

/*
 * Pheromone trails: an engine that answers well and fast lays one down, and it evaporates with
 * time. Nothing runs for it: a trail is brought up to date when it is looked at.
 */

/** Time after which a trail without new deposits is half as strong. */
const HALF_LIFE_MS = 60_000
/** Share of the gap to a full trail that one very good answer closes. */
const SHARE = 0.1
/** Weight of the previous value in the moving average of a model's time per token. */
const MEMORY = 0.95
/** Fraction of a trail that remains after a failure. */
const AFTER_FAILURE = 0.5

/** Strength of the engine's trail now, 0 to 1; 0 without a trail. */
export const trailOf = ({ trail }: CellEngine, nowMs: number): number =>
  trail === undefined ? 0 : trail.level * 2 ** ((trail.atMs - nowMs) / HALF_LIFE_MS)

/**
 * Deposits and weakens trails. Answers are compared with the model's usual time per token, so that
 * large models are not taken for slow cells.
 */
export interface Trails {
  /** Strengthens the engine's trail after an answer; `model` is the name that the client sent. */
  deposit(
    engine: CellEngine,
    model: string,
    timing: Pick<AnswerTiming, 'durationMs' | 'tokens'>,
  ): void
  clear(engine: CellEngine): void
}

export const createTrails = (nowMs: () => number): Trails => {
  const usualMs = new Map<string, number>()

  const set = (engine: CellEngine, level: number): void => {
    engine.trail = { level: Math.min(1, Math.max(0, level)), atMs: nowMs() }
  }
  return {
    deposit: (engine, model, { durationMs, tokens }) => {
      const ms = durationMs / Math.max(1, tokens)
      const usual = usualMs.get(model) ?? ms
      usualMs.set(model, MEMORY * usual + (1 - MEMORY) * ms)
      const level = trailOf(engine, nowMs())
      set(engine, level + (1 - level) * SHARE * quality(ms, usual))
    },
    clear: engine => set(engine, trailOf(engine, nowMs()) * AFTER_FAILURE),
  }
}

/** Returns 0 for twice the usual time or more, 0.5 for the usual time and 1 for no time at all. */
const quality = (ms: number, usual: number): number =>
  usual <= 0 ? 0.5 : Math.max(0, 1 - ms / (2 * usual))
