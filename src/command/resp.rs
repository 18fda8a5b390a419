//! A serde serializer that writes RESP: a struct becomes a map, numbers and texts what they are.
//! So STATUS and its JSON form come from one struct and can't differ.

use std::fmt;

use serde::ser::{self, Impossible, Serialize, Serializer};

use crate::server::reply::Reply;

/// Writes a value to the reply.
#[derive(Clone, Copy)]
pub struct Resp<'a>(pub Reply<'a>);

/// The value has a part that no reply of ours is made of.
#[derive(Debug)]
pub struct Unsupported;

impl fmt::Display for Unsupported {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a status holds numbers, texts, nulls and structs only")
    }
}

impl std::error::Error for Unsupported {}

impl ser::Error for Unsupported {
    fn custom<T: fmt::Display>(_: T) -> Unsupported {
        Unsupported
    }
}

type Written = Result<(), Unsupported>;
type Never = Impossible<(), Unsupported>;

/// Methods for what a status never holds.
macro_rules! unsupported {
    ($($name:ident: $kind:ty),* $(,)?) => {
        $(fn $name(self, _: $kind) -> Written { Err(Unsupported) })*
    };
}

impl<'a> Serializer for Resp<'a> {
    type Ok = ();
    type Error = Unsupported;
    type SerializeSeq = Never;
    type SerializeTuple = Never;
    type SerializeTupleStruct = Never;
    type SerializeTupleVariant = Never;
    type SerializeMap = Never;
    type SerializeStruct = Resp<'a>;
    type SerializeStructVariant = Never;

    unsupported! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_f32: f32,
        serialize_f64: f64,
        serialize_char: char,
        serialize_unit_struct: &'static str,
    }

    fn serialize_i64(self, number: i64) -> Written {
        self.0.int(number);
        Ok(())
    }

    fn serialize_u64(self, number: u64) -> Written {
        self.0.number(number);
        Ok(())
    }

    fn serialize_str(self, text: &str) -> Written {
        self.0.text(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Written {
        self.0.bytes(bytes);
        Ok(())
    }

    fn serialize_none(self) -> Written {
        self.0.null();
        Ok(())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Written {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Written {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Written {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Written {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Written {
        Err(Unsupported)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }

    fn serialize_tuple(self, _: usize) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }

    fn serialize_struct(self, _: &'static str, len: usize) -> Result<Self, Unsupported> {
        self.0.map(len);
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Never, Unsupported> {
        Err(Unsupported)
    }
}

impl ser::SerializeStruct for Resp<'_> {
    type Ok = ();
    type Error = Unsupported;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Written {
        self.0.text(name);
        value.serialize(*self)
    }

    fn end(self) -> Written {
        Ok(())
    }
}
