import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import type { StateBody } from '../../shared/wire/envelope.ts'
import type { Service } from '../service.ts'
import type { ControlSession } from '../uplink/control-session.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface AnnounceOptions {
  uplink: Pick<Uplink, 'onConnect' | 'onRebirth' | 'publishToAll' | 'countSessions'>
  /** Current description of this cell. */
  describe: () => Announce
  /** Pause between two looks whether that has changed. */
  intervalSeconds: number
  /**
   * Longest interval between announcements, whose answers carry the coordinator's time. Each comes
   * up to half an interval earlier, so that a fleet does not announce itself all at once.
   */
  repeatSeconds?: number
  /** Calls the listener for changes that should be announced at once. */
  onChange: (listener: () => void) => () => void
  /** Aborts when the cell stops accepting requests. */
  leaving?: AbortSignal
  logger: Logger
  wait?: Wait
  /** Milliseconds of a clock that never goes back. */
  nowMs?: () => number
  random?: () => number
}

interface AnnounceService extends Service {
  /** Announces the cell to every coordinator now; rejects without a connection. */
  again(): Promise<void>
}

/** Announces the cell on every connect, on request, and when it has changed. */
export const announceService = (options: AnnounceOptions): AnnounceService => {
  const { uplink, describe, onChange, logger } = options
  const { repeatSeconds = 600, nowMs = () => performance.now(), random = Math.random } = options
  let announced: string | undefined
  let repeatAtMs = Number.POSITIVE_INFINITY

  const birth = async (): Promise<void> => {
    const body = describe()
    announced = stablePart(body)
    repeatAtMs = nowMs() + repeatSeconds * 1000 * (1 - random() / 2)
    await uplink.publishToAll('birth', body)
  }
  /** Announces to one coordinator, and to the others when there is news for them too. */
  const birthTo = async (session: Pick<ControlSession, 'publish'>): Promise<void> => {
    const body = describe()
    const isKnown = uplink.countSessions() > 1 && stablePart(body) === announced
    await (isKnown ? session.publish('birth', body) : birth())
  }
  /** A failure means that the connection is lost, and the next one announces anyway. */
  const ignoreLoss = (sent: Promise<void>) =>
    sent.catch(error => logger.debug({ reason: error.message }, 'not announced'))

  const greet = async (session: Pick<ControlSession, 'publish'>): Promise<void> => {
    await birthTo(session)
    const state = options.leaving?.aborted ? 'draining' : 'ready'
    await session.publish('state', { state } satisfies StateBody)
  }
  const onRebirth = (session: ControlSession) => ignoreLoss(birthTo(session))
  const look = () => {
    if (announced === undefined) return
    if (nowMs() >= repeatAtMs || stablePart(describe()) !== announced) ignoreLoss(birth())
  }

  return {
    name: 'announce',
    again: birth,
    start: async ({ signal, fail }) => {
      const undo = [uplink.onConnect(greet), uplink.onRebirth(onRebirth), onChange(look)]
      signal.addEventListener('abort', () => {
        for (const off of undo) off()
      })
      lookOften(look, options, signal).catch(fail)
    },
  }
}

const lookOften = async (look: () => void, options: AnnounceOptions, signal: AbortSignal) => {
  const { intervalSeconds, wait = realWait } = options
  while (!signal.aborted) {
    await wait(intervalSeconds * 1000, signal)
    if (!signal.aborted) look()
  }
}

/** Parts of an announcement that do not change with every request; telemetry reports the others. */
const stablePart = (body: Announce): string =>
  JSON.stringify({
    ...body,
    engines: body.engines.map(
      ({
        slots_busy,
        queued,
        progress_percent,
        remaining_seconds,
        downloaded_bytes,
        download_bytes_per_second,
        idle_seconds,
        ...engine
      }) => engine,
    ),
  })
