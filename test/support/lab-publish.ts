import { listPublishedLinks } from '../../coordinator/kernel/publish/open.ts'
import { Publisher } from '../../coordinator/kernel/publish/publisher.ts'
import { listLinks } from '../../shared/mdns/links.ts'
import { systemRuntime } from '../../shared/runtime.ts'

/**
 * Announces a coordinator on a machine of a lab until its input ends, on one interface if its name is
 * given, loopback included; prints names as JSON lines.
 */
const [, , nodeId = '', port = '7070', link] = process.argv
const print = (line: object): void => {
  process.stdout.write(`${JSON.stringify(line)}\n`)
}
await using _publisher = await Publisher.start(
  { nodeId, port: Number(port), txt: { txtvers: '1', version: '0.1.0', fp: 'x'.repeat(43) } },
  link === undefined
    ? listPublishedLinks('0.0.0.0', listLinks())
    : listLinks()
        .filter(({ name }) => name === link)
        .map(each => ({ ...each, announced: [each.address] })),
  systemRuntime,
  instance => print({ instance }),
)
process.stdin.resume()
await new Promise(resolve => process.stdin.once('end', resolve))
