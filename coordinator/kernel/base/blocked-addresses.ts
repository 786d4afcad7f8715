import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv6 } from 'node:net'

/** A packet filter has dropped the packet: send(2) under cgroup-bpf and netfilter. */
const BLOCKED = ['EPERM', 'EACCES']

/**
 * The addresses of this machine to which this process cannot send. A unit with `IPAddressDeny=any`
 * makes them so, and then nobody at such an address can connect. The probe is one datagram to a
 * socket of this process, so that none leaves the machine.
 */
export const listBlockedAddresses = async (addresses: readonly string[]): Promise<string[]> => {
  const blocked = await Promise.all(addresses.map(isBlocked))
  return addresses.filter((_, index) => blocked[index])
}

const isBlocked = async (address: string): Promise<boolean> => {
  const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4')
  try {
    socket.bind(0, address)
    await once(socket, 'listening')
    await send(socket, address)
    return false
  } catch (error) {
    return BLOCKED.includes((error as NodeJS.ErrnoException).code ?? '')
  } finally {
    socket.close()
  }
}

const send = (socket: Socket, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const { port } = socket.address()
    socket.send('', port, address, error => (error === null ? resolve() : reject(error)))
  })
