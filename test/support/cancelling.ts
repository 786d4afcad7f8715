import { Agent, type IncomingMessage, request } from 'node:http'
import { MODEL, type OneProcessStack } from './one-process-stack.ts'
import { waitUntil } from './wait-until.ts'

/** Phases of a request in which its client can leave. */
export const PHASES = [
  'queued at the coordinator',
  'queued at the cell',
  'prompt',
  'mid-stream',
  'not streamed',
] as const
type Phase = (typeof PHASES)[number]

interface CellLimits {
  slots: number
  /** Requests that may wait on the cell. */
  queue: number
}

/** A prompt of some thousand tokens: it is read in several chunks. */
const LONG_PROMPT = 'the quick brown fox jumps over the lazy dog '.repeat(150)
const ENDLESS = 8000

/**
 * Lets clients leave in one phase, a wave at a time, and waits until nothing of theirs is left: no
 * slot, no place in a queue. Answers how long each wave took, milliseconds.
 */
export const cancelIn = async (
  stack: OneProcessStack,
  phase: Phase,
  { slots, queue }: CellLimits,
  count: number,
): Promise<number[]> => {
  const agent = new Agent({ keepAlive: false })
  const client = clientOf(stack, agent)
  const tookMs: number[] = []
  const report = () => stack.inference.reports()[0]
  const countBusy = () => report()?.slots_busy
  const countQueued = () => report()?.queued
  const held = await occupy(
    client,
    countBusy,
    countQueued,
    countOccupied(phase, { slots, queue }),
    slots,
  )
  const wave = waveIn(phase, { slots, queue })
  for (let done = 0; done < count; done += wave) {
    const asked = Array.from({ length: Math.min(wave, count - done) }, (_, i) =>
      client.ask(
        phase !== 'not streamed',
        phase === 'prompt' ? `${done + i} ${LONG_PROMPT}` : 'go',
      ),
    )
    if (phase === 'queued at the coordinator')
      await waitFor(() => stack.countWaiting() === asked.length)
    else if (phase === 'queued at the cell') await waitFor(() => countQueued() === asked.length)
    else await waitFor(() => countBusy() === asked.length)
    if (phase === 'mid-stream') await Promise.all(asked.map(each => each.begun))
    const startedMs = performance.now()
    for (const each of asked) each.destroy()
    if (phase === 'queued at the coordinator') await waitFor(() => stack.countWaiting() === 0)
    else if (phase === 'queued at the cell') await waitFor(() => countQueued() === 0)
    else await waitFor(() => countBusy() === 0)
    tookMs.push(performance.now() - startedMs)
  }
  for (const each of held) each.destroy()
  await waitFor(() => countBusy() === 0 && countQueued() === 0)
  agent.destroy()
  return tookMs
}

/** What has to be full so that the next request is in the phase. */
const countOccupied = (phase: Phase, { slots, queue }: CellLimits): number => {
  if (phase === 'queued at the coordinator') return slots + queue
  return phase === 'queued at the cell' ? slots : 0
}

const waveIn = (phase: Phase, { slots, queue }: CellLimits): number => {
  if (phase === 'queued at the coordinator') return 200
  return phase === 'queued at the cell' ? queue : slots
}

const occupy = async (
  client: ReturnType<typeof clientOf>,
  countBusy: () => number | undefined,
  countQueued: () => number | undefined,
  count: number,
  slots: number,
): Promise<Asked[]> => {
  const held = Array.from({ length: count }, () => client.ask(true, 'go'))
  await waitFor(
    () => countBusy() === Math.min(count, slots) && countQueued() === Math.max(0, count - slots),
  )
  return held
}

interface Asked {
  /** The client leaves. */
  destroy(): unknown
  /** Resolves with the first bytes of the answer. */
  begun: Promise<void>
}

const clientOf = ({ url, keys }: OneProcessStack, agent: Agent) => ({
  ask: (stream: boolean, content: string): Asked => {
    const asked = request(`${url}/v1/chat/completions`, {
      agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys.enterprise}`,
        'content-type': 'application/json',
      },
    })
    asked.on('error', () => {})
    asked.end(
      JSON.stringify({
        model: MODEL,
        messages: [{ role: 'user', content }],
        temperature: 0,
        max_tokens: ENDLESS,
        stream,
      }),
    )
    const begun = Promise.withResolvers<void>()
    asked.once('response', (response: IncomingMessage) => {
      response.on('error', () => {})
      response.once('data', () => begun.resolve())
    })
    return { destroy: () => asked.destroy(), begun: begun.promise }
  },
})

const waitFor = (isSo: () => boolean): Promise<boolean> =>
  waitUntil('what was held is free', isSo, 2)
