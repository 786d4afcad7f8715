import { once } from 'node:events'
import {
  connect,
  createServer,
  type ListenOptions,
  type NetConnectOpts,
  type Server,
  type Socket,
} from 'node:net'

/** Forwards each connection to the target until the server is closed. */
export const openDoor = async (at: ListenOptions, target: NetConnectOpts): Promise<Server> => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, client => {
    const upstream = connect({ ...target, allowHalfOpen: true, noDelay: true } as NetConnectOpts)
    join(client, upstream)
    join(upstream, client)
  })
  server.listen(at)
  await once(server, 'listening')
  return server
}

const join = (from: Socket, to: Socket): void => {
  from.on('error', () => {})
  from.once('close', () => to.destroy())
  from.pipe(to)
}
