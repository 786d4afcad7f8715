import { type CellEngine, claim, isHalfOpen, release } from '../../fleet/routing/engine.ts'
import { ProbeReader } from '../../fleet/routing/health/probe-reader.ts'
import { askEngine, type EngineRequest } from './ask-engine.ts'
import { endOf } from './attempt-end.ts'
import type { Dispatch } from './dispatch-request.ts'
import { findLiveliest } from './find-liveliest.ts'
import type { Tries } from './tries.ts'

/** Returns the next engine for a request, with a place on it; undefined where it has to wait. */
export const claimEngine = (
  request: Dispatch,
  tries: Tries,
  asked: EngineRequest,
): CellEngine | undefined => {
  if (!tries.mayGoOnAtOnce) return undefined
  const { pick, lane, runtime } = request
  const { tried, hasMetSilence } = tries
  const picked = pick(tried)
  if (picked === undefined) return undefined
  const engine = hasMetSilence ? findLiveliest(picked, tried, passed => lane?.pick(passed)) : picked
  claim(engine, runtime.nowMs())
  return isHalfOpen(engine) ? claimSound(engine, request, tries, asked) : engine
}

/**
 * Probes a half-open engine with a copy of the request, and returns a sound one for the request
 * itself, so that no client waits for a probe; the half-open one where no other has room.
 */
const claimSound = (
  halfOpen: CellEngine,
  request: Dispatch,
  { tried }: Tries,
  asked: EngineRequest,
): CellEngine => {
  const { lane, runtime } = request
  const passed = new Set(tried)
  let engine: CellEngine | undefined = halfOpen
  while (engine !== undefined && isHalfOpen(engine)) {
    passed.add(engine.cellId)
    engine = lane?.pick(passed)
  }
  if (engine === undefined) return halfOpen
  claim(engine, runtime.nowMs())
  void probe(halfOpen, request, asked)
  return engine
}

const probe = async (
  engine: CellEngine,
  { lane, stream: streaming, memory, keyId, runtime: { nowMs } }: Dispatch,
  asked: EngineRequest,
): Promise<void> => {
  const sent = { engine, sentAtMs: nowMs(), lostBeforeMs: engine.lostAtMs }
  const client = new ProbeReader()
  const reader = { client, streaming, memory, keyId, nowMs, accept: undefined, onStart: () => {} }
  const attempt = await askEngine(engine, asked, reader)
  release(engine)
  lane?.reportEnd(sent, client.hasBegun ? 'served' : endOf(attempt))
  if (attempt.kind === 'retry' && attempt.failed)
    lane?.reportFailures([{ ...sent, fault: attempt.fault }], true)
  if (attempt.kind === 'answered') attempt.rest.discard()
}
