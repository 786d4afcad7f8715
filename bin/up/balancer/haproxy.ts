import type { BalancerPlan } from './balancer.ts'

/** Configuration of HAProxy for a trial; see docs/scale.md for one of production. */
export const haproxyConfig = ({ port, replicaPorts }: BalancerPlan): string => `
global
  maxconn 4096
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout tunnel 1h
  option redispatch
  retry-on conn-failure
listen coordinators
  bind 127.0.0.1:${port}
  balance leastconn
  option httpchk GET /readyz
  default-server check inter 1s fall 1 rise 1
${replicaPorts.map((each, index) => `  server coordinator-${index + 1} 127.0.0.1:${each}`).join('\n')}
`
