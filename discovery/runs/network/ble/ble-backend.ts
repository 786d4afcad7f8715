/** One advertisement with what its sender has said before in the same scan. */
export interface Advertisement {
  /** `aa:bb:cc:dd:ee:ff`. */
  address: string
  isRandom: boolean
  isConnectable: boolean | null
  rssi_dbm: number | null
  tx_power_dbm: number | null
  name: string | undefined
  manufacturerData: Uint8Array | undefined
  serviceData: readonly { uuid: string; data: Uint8Array }[]
  serviceUuids: readonly string[]
}

/** A Bluetooth adapter that listens. */
export interface BleBackend {
  /**
   * Listens for a time, or until the signal aborts; the adapter is free again when it resolves. The
   * time begins when the adapter is ready.
   * @throws NotPossibleHere when the adapter cannot be used
   */
  listen(
    onAdvertisement: (heard: Advertisement) => void,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<void>
}
