import { randomInt } from 'node:crypto'
import { HOST_PORTS } from '../../../net/port-sets.ts'
import { probePort } from '../../../net/probe-port.ts'
import type { ScanContext } from '../../../scan-run.ts'
import { identifyPort, type NamedPort, readBanner } from './identify-port.ts'

type Limits = Pick<ScanContext, 'scope' | 'signal'>

/** Open ports from which a host is suspected; a plain host rarely has as many of the common ones. */
const SUSPECT = 5
/** Random ports that are tried. */
const TRIED = 4
/** Range of the random ports, in which few services listen. */
const [LOWEST, HIGHEST] = [20_000, 65_535]
const TIMEOUT_MS = 300

interface NamedPorts {
  ports: NamedPort[]
  /** True for a host that also answers on ports where nothing can listen, such as a tarpit. */
  answersEveryPort: boolean
}

/**
 * Names the open ports of a host. Of one that answers on every port, only ports that say something
 * of their own are kept: that the others are open proves nothing.
 */
export const nameOpenPorts = async (
  address: string,
  open: readonly number[],
  limits: Limits,
): Promise<NamedPorts> => {
  const said = open.length < SUSPECT ? undefined : await readRandomPorts(address, limits)
  const named = await Promise.all(open.map(port => nameOwn({ address, port }, said, limits)))
  const ports = named.flatMap(each => each ?? []).toSorted((one, other) => one.port - other.port)
  return { ports, answersEveryPort: said !== undefined }
}

/** Banners of random ports, empty for a silent one; undefined when one of the ports is not open. */
const readRandomPorts = async (
  address: string,
  limits: Limits,
): Promise<ReadonlySet<string> | undefined> => {
  const ports = chooseRandomPorts()
  const options = { ...limits, timeoutMs: TIMEOUT_MS }
  const states = await Promise.all(ports.map(port => probePort(address, port, options)))
  if (states.some(state => state !== 'open')) return undefined
  return new Set(await Promise.all(ports.map(port => readBanner({ address, port }, limits))))
}

const chooseRandomPorts = (): number[] => {
  const ports = new Set<number>()
  while (ports.size < TRIED) {
    const port = randomInt(LOWEST, HIGHEST + 1)
    if (!HOST_PORTS.includes(port)) ports.add(port)
  }
  return [...ports]
}

/** Named port; undefined for a silent one, or one that answers like the random ports. */
const nameOwn = async (
  place: { address: string; port: number },
  said: ReadonlySet<string> | undefined,
  limits: Limits,
): Promise<NamedPort | undefined> => {
  if (said === undefined) return identifyPort(place, limits)
  const banner = await readBanner(place, limits)
  if (banner !== '' && said.has(banner)) return undefined
  const named = await identifyPort(place, limits, banner)
  return named.name === 'unknown' ? undefined : named
}
