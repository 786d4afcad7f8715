/** A helper process that answers its first call with bytes that never become a line. */
import { Socket } from 'node:net'
import { LINK_FD } from '../../daemon/helper/protocol.ts'

const link = new Socket({ fd: LINK_FD })
link.on('error', () => {})
link.on('close', () => process.exit())
const flood = (): void => {
  while (link.write('x'.repeat(64 * 1024)));
  link.once('drain', flood)
}
link.once('data', flood)
link.write('{"type":"ready"}\n')
