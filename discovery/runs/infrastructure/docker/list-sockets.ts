type Environment = Readonly<Record<string, string | undefined>>

/**
 * Sockets of container engines in the order in which they are tried: the configured one alone, else
 * those of the environment, of Docker and of Podman. An engine at a TCP address is never asked.
 */
export const listSockets = (configured: string | undefined, env: Environment): string[] => {
  if (configured !== undefined) return [configured]
  const { DOCKER_SOCKET, DOCKER_HOST = '', XDG_RUNTIME_DIR: own } = env
  const named = DOCKER_HOST.startsWith('unix://') ? DOCKER_HOST.slice(7) : undefined
  const sockets = [
    ...[DOCKER_SOCKET, named, '/var/run/docker.sock'],
    own && `${own}/docker.sock`,
    '/run/podman/podman.sock',
    own && `${own}/podman/podman.sock`,
  ]
  return [...new Set(sockets.filter(path => path !== undefined && path !== ''))] as string[]
}
