import { setTimeout as delay } from 'node:timers/promises'
import type { Link } from '../../../../shared/mdns/links.ts'
import { MdnsSockets } from '../../../../shared/mdns/sockets.ts'
import { Browser } from './browser.ts'
import type { FoundService } from './services.ts'

interface BrowseOptions {
  links: readonly Link[]
  /** True for links on which questions may be sent; on others it only listens. */
  isAskable: (link: Link) => boolean
  /** Service types to browse; all that hosts list when absent. */
  types?: readonly string[]
  timeoutMs: number
  signal: AbortSignal
  /** Runs once when more was heard than is kept. */
  onFull?: () => void
}

/** Interval in which questions are sent and services are reported. */
const TICK_MS = 50

/**
 * Services that are heard within the timeout, each once its host, port, attributes and address are
 * known, the incomplete ones at the end. A service that leaves is reported again as gone.
 * @throws the error of the system when the port cannot be shared
 */
export const browseServices = async function* (
  options: BrowseOptions,
): AsyncGenerator<FoundService> {
  const { links, timeoutMs, signal, onFull } = options
  const browser = new Browser(options)
  const onPacket = browser.read.bind(browser)
  await using sockets = await MdnsSockets.open(links, (packet, link) =>
    onPacket(packet, link, performance.now()),
  )
  browser.start(performance.now())
  const end = performance.now() + timeoutMs
  for (let now = performance.now(); now < end; now = performance.now()) {
    await delay(Math.min(TICK_MS, end - now), undefined, { signal })
    for (const { link, bytes } of browser.takeQueries(performance.now()))
      await sockets.send(link, bytes)
    yield* browser.takeReady(performance.now())
  }
  yield* browser.takeRest(performance.now())
  if (browser.isFull) onFull?.()
}
