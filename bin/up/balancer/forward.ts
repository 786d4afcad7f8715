import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Forwarder of TCP connections on 127.0.0.1. */
export interface Forwarder {
  port: number
  close(): Promise<void>
}

/**
 * Forwards each connection to the next target in turn, or to the one after it where nothing listens.
 * For trials and tests only: it checks no health and knows nothing of requests.
 */
export const startForwarder = async (
  port: number,
  targets: readonly number[],
): Promise<Forwarder> => {
  const open = new Set<Socket>()
  const keep = (socket: Socket): void => {
    open.add(socket)
    socket.once('close', () => open.delete(socket)).on('error', () => {})
  }
  let turn = 0
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, client => {
    keep(client)
    const first = turn++
    const dial = (tries: number): void => {
      if (tries === targets.length) return void client.destroy()
      const target = targets[(first + tries) % targets.length] as number
      const upstream = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true })
      keep(upstream)
      const onRefused = (): void => dial(tries + 1)
      upstream.once('error', onRefused)
      upstream.once('connect', () => {
        upstream.off('error', onRefused)
        joinSockets(client, upstream)
      })
    }
    dial(0)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      server.close()
      for (const socket of open) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** Each end that closes takes the other with it. */
const joinSockets = (client: Socket, upstream: Socket): void => {
  if (client.destroyed) return void upstream.destroy()
  client.once('close', () => upstream.destroy())
  upstream.once('close', () => client.destroy())
  client.pipe(upstream)
  upstream.pipe(client)
}
