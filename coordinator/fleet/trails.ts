import type { Engine } from './engine.ts'

/*
 * Pheromone trails: an engine that answers well and fast lays one down, and it evaporates with
 * time. Nothing runs for it: a trail is brought up to date when it is looked at.
 */

/** A trail that nothing is added to is half as strong after this time. */
export const HALF_LIFE_MS = 60_000
/** Part of what is missing to a full trail that one very good answer adds. */
const SHARE = 0.1
/** Part of the old figure that a new answer leaves of what is usual for a model. */
const MEMORY = 0.95
/** What is left of a trail after a failure. */
const AFTER_FAILURE = 0.5

/** Strength now, 0 to 1; 0 without any. */
export const trailOf = ({ trail }: Engine, nowMs: number): number =>
  trail === undefined ? 0 : trail.level * 2 ** ((trail.atMs - nowMs) / HALF_LIFE_MS)

/** What one answer took, by the tokens in it. */
export interface Service {
  /** From the moment it was sent to the cell, milliseconds. */
  durationMs: number
  /** Read and generated. */
  tokens: number
}

/** Time per token that is usual for each model, so that big models are not taken for slow cells. */
export interface Trails {
  /** `model`: as the client named it. */
  deposit(engine: Engine, model: string, service: Service): void
  wash(engine: Engine): void
}

export const createTrails = (nowMs: () => number): Trails => {
  const usualMs = new Map<string, number>()

  const set = (engine: Engine, level: number): void => {
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
    wash: engine => set(engine, trailOf(engine, nowMs()) * AFTER_FAILURE),
  }
}

/** 0 for twice the usual time and more, a half for the usual, 1 for no time at all. */
const quality = (ms: number, usual: number): number =>
  usual <= 0 ? 0.5 : Math.max(0, 1 - ms / (2 * usual))
