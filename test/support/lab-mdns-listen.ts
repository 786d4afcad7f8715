import { listLinks } from '../../shared/mdns/links.ts'
import { MdnsSockets } from '../../shared/mdns/sockets.ts'

/** Prints every packet of multicast DNS that reaches a machine of a lab, as a JSON line, until killed. */
const links = listLinks().filter(({ isLoopback }) => !isLoopback)
await MdnsSockets.open(links, ({ isResponse, questions }, _link, { address }) => {
  process.stdout.write(`${JSON.stringify({ from: address, isResponse, questions })}\n`)
})
process.stdout.write('{"ready":true}\n')
