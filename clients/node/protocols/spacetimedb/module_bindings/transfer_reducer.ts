import {
  AlgebraicType,
  type BinaryReader,
  type BinaryWriter,
  ProductTypeElement,
} from "@clockworklabs/spacetimedb-sdk";

export interface Transfer {
  from: number;
  to: number;
  amount: number;
}

export const Transfer = {
  getTypeScriptAlgebraicType(): AlgebraicType {
    return AlgebraicType.createProductType([
      new ProductTypeElement("from", AlgebraicType.createU32Type()),
      new ProductTypeElement("to", AlgebraicType.createU32Type()),
      new ProductTypeElement("amount", AlgebraicType.createU32Type()),
    ]);
  },

  serialize(writer: BinaryWriter, value: Transfer): void {
    Transfer.getTypeScriptAlgebraicType().serialize(writer, value);
  },

  deserialize(reader: BinaryReader): Transfer {
    return Transfer.getTypeScriptAlgebraicType().deserialize(reader);
  },
};
