import { once } from 'node:events'
import { type AddressInfo, createServer, isIPv6, type Server } from 'node:net'
import { exitCode } from '../../shared/errors.ts'
import { LaunchError } from './launch-error.ts'
import type { UpOptions } from './options.ts'

const LOOPBACK = '127.0.0.1'

/** Throws before anything starts when a port is not available, naming the flag that chose it. */
export const checkPorts = async ({
  port,
  mqttPort,
  lan,
}: Pick<UpOptions, 'port' | 'mqttPort' | 'lan'>) => {
  await checkPort('--port', port, lan && (isIPv6(lan) ? '::' : '0.0.0.0'))
  if (mqttPort !== undefined) await checkPort('--mqtt-port', mqttPort)
}

const checkPort = async (flag: string, port: number, host = LOOPBACK): Promise<void> => {
  if (port === 0) return
  let server: Server
  try {
    server = await holdPort(port, host)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`
    const message = `port ${port} on ${host} ${why}; choose another: npm start -- ${flag} PORT (0 chooses a free one)`
    throw new LaunchError(exitCode('address_in_use'), message, cause)
  }
  await release(server)
}

/** Ports that nothing listens on now, for programs that must know theirs before they start. */
export const findFreePorts = async (count: number): Promise<number[]> => {
  const servers = await Promise.all(Array.from({ length: count }, () => holdPort(0)))
  const ports = servers.map(server => (server.address() as AddressInfo).port)
  await Promise.all(servers.map(release))
  return ports
}

/** Listens on a port; on a free one for 0. */
const holdPort = async (port: number, host = LOOPBACK): Promise<Server> => {
  const server = createServer()
  server.listen(port, host)
  await once(server, 'listening')
  return server
}

const release = async (server: Server): Promise<void> => {
  server.close()
  await once(server, 'close')
}
