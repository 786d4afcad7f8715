import { once } from 'node:events'
import { createServer } from 'node:net'
import { exitCode } from '../../shared/errors.ts'
import { LaunchError } from './launch-error.ts'
import type { UpOptions } from './options.ts'

/** Throws before anything starts when a port is not available, naming the flag that chose it. */
export const checkPorts = async ({ port, mqttPort }: Pick<UpOptions, 'port' | 'mqttPort'>) => {
  await checkPort('--port', port)
  if (mqttPort !== undefined) await checkPort('--mqtt-port', mqttPort)
}

const checkPort = async (flag: string, port: number): Promise<void> => {
  if (port === 0) return
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const why = code === 'EADDRINUSE' ? 'is in use' : `cannot be used (${code})`
    const message = `port ${port} on 127.0.0.1 ${why}; choose another: npm start -- ${flag} PORT (0 chooses a free one)`
    throw new LaunchError(exitCode('address_in_use'), message, cause)
  }
  server.close()
  await once(server, 'close')
}
