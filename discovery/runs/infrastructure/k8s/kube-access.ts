/** A cluster, and what the cell may present to it. */
export interface KubeAccess {
  /** Origin of the API server, such as `https://10.0.0.10:6443`. */
  server: string
  /** Certificates in PEM that the server is checked against; those of the system when absent. */
  ca?: string | Buffer
  /** Name in the server's certificate, where it is not that of the address. */
  serverName?: string
  credentials?: KubeCredentials
  /** Why there are no credentials although some were configured. */
  lack?: string
}

export interface KubeCredentials {
  token?: string
  /** Client certificate and key in PEM. */
  cert?: string | Buffer
  key?: string | Buffer
}

/** Origin of an address of a server; a path in front of the API is not supported. */
export const originOf = (server: string): string => new URL(server).origin
