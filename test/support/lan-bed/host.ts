import { once } from 'node:events'
import { createServer } from 'node:net'
import { startStandIn } from '../llm-stand-ins.ts'
import type { BedHost } from './hosts.ts'

/**
 * Process of one host of the test bed: listens as its argument says, over IPv4 and IPv6, writes a
 * line, and ends with its standard input.
 */
const { services = [] } = JSON.parse(process.argv[2] ?? '{}') as BedHost

for (const { port, banner, routes } of services) {
  if (routes !== undefined) {
    await startStandIn({ port, routes }, '::')
    continue
  }
  const server = createServer(socket => {
    socket.on('error', () => {})
    if (banner !== undefined) socket.write(banner)
  })
  server.listen(port, '::')
  await once(server, 'listening')
}

process.stdout.write('ready\n')
process.stdin.on('end', () => process.exit(0)).resume()
