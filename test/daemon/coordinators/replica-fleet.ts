import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { Test } from 'tap'
import { parseTopic, topicFor } from '../../../shared/wire/topics.ts'
import { type StandIn, standIn } from '../stand-in.ts'

/**
 * Forwards TCP connections to the coordinators in turn, or as `pick` says. A connection to one that
 * does not listen is dropped.
 */
const openBalancer = async (t: Test, targets: readonly StandIn[]) => {
  const balancer = { pick: (turn: number): number => turn, dials: 0 }
  const sockets = new Set<Socket>()
  const track = (socket: Socket): Socket =>
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  const server = createServer(from => {
    const target = targets[balancer.pick(balancer.dials++) % targets.length]
    const to = connect(Number(new URL(target?.url ?? '').port), '127.0.0.1')
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(track(one))
      one.pipe(other)
      one.on('close', () => other.destroy())
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return Object.assign(balancer, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  })
}

/** Several coordinators that serve one fleet, and the balancer in front of them. */
export const openReplicaFleet = async (t: Test, ids: readonly string[]) => {
  const coordinators = await Promise.all(ids.map(id => standIn(id)))
  const balancer = await openBalancer(t, coordinators)
  const fleet = {
    coordinators,
    balancer,
    /** Live coordinators, as each of them tells a cell after its birth. */
    live: ids.map((id): { id: string; address?: string } => ({ id })),
    /** Tells a cell who lives, through every coordinator. */
    tellLive: (cellId: string): void => {
      for (const coordinator of coordinators) tell(coordinator, cellId)
    },
    /** Messages on a topic, by coordinator. */
    heardOf: (topic: string) =>
      coordinators.map(({ heard }) => heard.filter(one => one.topic === topic)),
    /** Number of MQTT sessions and of links, by coordinator. */
    countConnections: () =>
      coordinators.map(({ countSessions, links }) => [
        countSessions(),
        links.filter(({ closed, destroyed }) => !closed && !destroyed).length,
      ]),
    /** The process of a coordinator ends. */
    kill: (coordinator: StandIn | undefined): void => {
      coordinator?.server.close()
      coordinator?.cut()
    },
  }
  const tell = ({ replica, tell }: StandIn, cellId: string): void =>
    tell(topicFor('replicas', cellId), 'replicas', { id: replica, replicas: fleet.live })
  for (const coordinator of coordinators)
    coordinator.state.accept = topic => {
      const { name, cellId } = parseTopic(topic) ?? {}
      if (name === 'birth' && cellId !== undefined) setImmediate(() => tell(coordinator, cellId))
      return true
    }
  t.teardown(() => Promise.all(coordinators.map(({ close }) => close())))
  return fleet
}
