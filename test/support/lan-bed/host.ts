import { once } from 'node:events'
import { createServer } from 'node:net'
import { startStandIn } from '../llm-stand-ins.ts'
import type { BedHost } from './hosts.ts'

/**
 * Process of one host of the test bed: listens as its argument says, writes a line, and ends with
 * its standard input.
 */
const { services = [] } = JSON.parse(process.argv[2] ?? '{}') as BedHost

for (const { port, banner, routes } of services) {
  if (routes !== undefined) {
    await startStandIn({ port, routes }, '0.0.0.0')
    continue
  }
  const server = createServer(socket => {
    socket.on('error', () => {})
    if (banner !== undefined) socket.write(banner)
  })
  server.listen(port, '0.0.0.0')
  await once(server, 'listening')
}

process.stdout.write('ready\n')
process.stdin.on('end', () => process.exit(0)).resume()
