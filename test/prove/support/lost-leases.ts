import { leaseSize } from '../../../coordinator/access/quota/month-ledger.ts'

interface LossPlan {
  clients: number
  limit: number
  left: number
  kills: number
}

/**
 * Most requests that kill -9 may cost a month. Each time the process loses what it has leased ahead,
 * and at most one request of each client, which was granted and has not reached the cell.
 */
export const mostLost = ({ clients, limit, left, kills }: LossPlan, replicas = 1): number => {
  const ahead = leaseSize({ limit, reserved: limit - left, waiting: 0, replicas })
  return kills * (ahead + clients)
}
