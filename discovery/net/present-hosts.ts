import { wait } from '../../shared/wait.ts'
import type { ScanScope } from '../../shared/wire/scan-scope.ts'
import { readAttachedLinks } from './attached-links.ts'
import { listLate, sweepLink } from './neighbour-sweep.ts'

/** Time after the sweep in which a host may still answer, such as one with a sleeping radio. */
const LATE_MS = 500

/** Addresses that are worth a probe. */
interface PresentHosts {
  /** Addresses whose host answered on the link, and all that are behind a router. */
  first: string[]
  /** True for a host that is known to be there. */
  isUp(address: string): boolean
  /** Hosts on the link that answered late; resolves at least 500 ms after the sweep. */
  listLate(): Promise<string[]>
}

/** Resolves the addresses on the links of this machine, so that absent hosts cost no probe. */
export const findPresentHosts = async (
  addresses: readonly string[],
  options: { scope: ScanScope; signal: AbortSignal },
): Promise<PresentHosts> => {
  const { isOwn, isOnLink } = readAttachedLinks()
  const onLink = addresses.filter(address => !isOwn(address) && isOnLink(address))
  const swept = await sweepLink(onLink, options)
  const sweptAt = performance.now()
  return {
    first: addresses.filter(each => !swept.absent.has(each)),
    isUp: address => isOwn(address) || swept.found.has(address),
    listLate: async () => {
      if (swept.absent.size === 0 || options.signal.aborted) return []
      await wait(Math.max(0, LATE_MS - (performance.now() - sweptAt)), options.signal)
      return listLate(swept)
    },
  }
}
