import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { HOST } from './target.ts'

/**
 * A bare server of Node, that nobody attacks: what it takes for its answers is the machine's part in
 * what the coordinator takes. Tells its parent its port.
 */
const server = createServer((_request, response) => {
  response.end('ok')
})
server.listen(0, HOST, () => process.send?.((server.address() as AddressInfo).port))
process.once('disconnect', () => process.exit())
